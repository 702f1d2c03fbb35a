// Merging two support vectors of an RBF machine into one (budgeted Pegasos, section 4.3).
//
// Support vectors m and n with coefficient vectors alpha_m, alpha_n become
//     z = h v_m + (1 - h) v_n,   alpha_z = alpha_m k(m, z) + alpha_n k(n, z),
// which are the best coefficients for that z. With
//     a = |alpha_m|^2,  b = alpha_m.alpha_n,  c = |alpha_n|^2,  s = gamma |v_m - v_n|^2,
//     k(m, z) = exp(-s (1-h)^2),  k(n, z) = exp(-s h^2)
// the model changes by
//     |delta|^2 = a (1 - k(m,z)^2) + c (1 - k(n,z)^2) + 2 b (k(m,n) - k(m,z) k(n,z)).
// Where the derivative by h vanishes,
//     h = (a q^2 + b q) / (a q^2 + 2 b q + c),   q = k(m,z) / k(n,z) = exp(-s (1 - 2h)):
// a fixed point that costs one exp a step, and Newton's method makes the steps few. With a <= c the
// best h is at most 1/2 (going from h to 1 - h then costs (c - a)(k(n,z)^2 - k(m,z)^2) more), and h = 0,
// projection onto v_n, is a start from which the better optimum is found. Where b < 0, so that the
// two work against each other, h may be negative: z then lies beyond v_n.
//
// Most candidates are ruled out by a bound that needs no h. Split alpha_m into a part along alpha_n,
// of squared length a r with r = b^2 / (a c), and the rest across it. The rest is lost but for
// k(m, z)^2, and h is at most (a + b) / (a + 2b + c), so
//     |delta|^2 >= a (1 - r) (1 - exp(-2 s (1-h)^2)) + a r (1 - exp(-sqrt(2) s c / (c + b)))^2,
// the last term being a lower bound for merging two numbers, exact for small s (for b < 0 it is used
// with b = 0, and 2b in the bound of h is b). Since h <= 1/2 and b <= c it is at least
//     a min(1 - exp(-s/2), (1 - exp(-s/sqrt(2)))^2),
// by which most are ruled out by their distance alone. tests/test_kernels.py checks both over a grid.
#pragma once

namespace multiplane {

struct Merge {
  double h;
  double cost;        // |delta|^2
  double k_mz, k_nz;
};

// The best h in [-1, 1/2], to the precision of double. Needs a <= c.
Merge best_merge(double a, double b, double c, double s);

}  // namespace multiplane
