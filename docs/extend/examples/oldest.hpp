// Drops the oldest, whatever it is worth: a window over the stream.
class Oldest : public Maintenance {
 public:
  Change reduce(Support& support, const Newest&, bool) override {
    int p = support.frozen();
    for (int i = p + 1; i < support.size(); ++i)
      if (support.born(i) < support.born(p)) p = i;
    Change change;
    change.squared_norm = static_cast<double>(support.weight(p)) * std::fabs(support.self(p));
    change.touched[0] = p;
    support.remove(p);
    return change;
  }
};
