"""What C headers are made of: templates in which ${name} is the model's name, ${NAME} the same in
capitals, ${real} the type of float that scores are computed in, with ${f} as the suffix of its
functions, and ${x} that of rows as the model wants them."""

# --- frame --------------------------------------------------------------------------------

USAGE = """\
    #include "${name}.h"
    float x[${NAME}_N_FEATURES] = ...;     one row, finite numbers
    int c = ${name}_predict(x);            ${name}_classes[c] is the label
    float s[${NAME}_N_CLASSES];
    ${name}_scores(x, s);                  the score of each class; the highest decides"""

USAGE_OF_LABELS = """\
    #include "${name}.h"
    float x[${NAME}_N_FEATURES] = ...;     one row, finite numbers
    int y[${NAME}_N_CLASSES];
    ${name}_predict(x, y);                 0 or 1 for each label
    float s[${NAME}_N_CLASSES];
    ${name}_scores(x, s);                  the score of each label"""

USAGE_OF_PROBABILITIES = """\
    ${name}_probabilities(x, s);           as predict_proba"""

TRY_IT = """\
Rows of numbers on standard input to labels and scores:
    cc -D${NAME}_EXAMPLE -x c ${name}.h -o ${name} -lm && ./${name} < rows.txt"""

EXACT = """\
Scores are those of decision_function but for rounding, and labels those of predict where no two
classes are nearer than that. With -DMULTIPLANE_FMA scores have the same bits, and labels are the
same without exception: multiply-adds are then fused (fmaf of math.h), as multiplane's are. That is
fast where the processor can do so and slow where it cannot."""

CLOSE = """\
Scores are those of decision_function but for rounding, usually less than 1e-5 of their scale, and
labels those of predict where no two classes are nearer than that."""

BEGIN = """\
#ifndef ${NAME}_H
#define ${NAME}_H

#include <math.h>

#define ${NAME}_N_FEATURES ${n_features}
#define ${NAME}_N_CLASSES ${n_classes}
"""

UNIT_LENGTH = """\
static inline void ${name}_unit_length(double *z)
{
  double square = 0;
  int i;
  for (i = 0; i < ${NAME}_N_FEATURES; ++i) square += z[i] * z[i];
  if (square > 0)
    for (i = 0; i < ${NAME}_N_FEATURES; ++i) z[i] /= sqrt(square);
}
"""

RAW = """\
/* Scores, in the type of float that they are computed in. */
static inline void ${name}_raw(const float *${row}, ${real} *p)
{
${body}
}
"""

END = """\
static inline void ${name}_scores(const float *x, float *scores)
{
  ${real} p[${NAME}_N_CLASSES];
  int c;
  ${name}_raw(x, p);
  for (c = 0; c < ${NAME}_N_CLASSES; ++c) scores[c] = (float)p[c];
}
"""

PROBABILITIES = """\
static inline void ${name}_probabilities(const float *x, float *probabilities)
{
  ${real} p[${NAME}_N_CLASSES];
  int c;
  ${name}_raw(x, p);
  ${name}_${link}(p);
  for (c = 0; c < ${NAME}_N_CLASSES; ++c) probabilities[c] = (float)p[c];
}
"""

PREDICT = """\
/* The class with the highest score, the first among equals: an index into ${name}_classes. */
static inline int ${name}_predict(const float *x)
{
  ${real} p[${NAME}_N_CLASSES];
  int best = 0, c;
  ${name}_raw(x, p);
  for (c = 1; c < ${NAME}_N_CLASSES; ++c)
    if (p[c] > p[best]) best = c;
  return best;
}
"""

PREDICT_LABELS = """\
/* 0 or 1 for each label. */
static inline void ${name}_predict(const float *x, int *labels)
{
  ${real} p[${NAME}_N_CLASSES];
  int c;
  ${name}_raw(x, p);
  ${name}_${link}(p);
  for (c = 0; c < ${NAME}_N_CLASSES; ++c) labels[c] = p[c] >= 0.5${f};
}
"""

EXAMPLE = """\
#ifdef ${NAME}_EXAMPLE
/* A row of numbers in each line of standard input, with blanks, commas or semicolons between; a
   line for each: label, scores${and_probabilities}. */
#include <stdio.h>

int main(void)
{
  float x[${NAME}_N_FEATURES], s[${NAME}_N_CLASSES];
  int c, f = 0;
  long line = 1;
  while (scanf("%f", &x[f]) == 1) {
    do c = getchar(); while (c == ' ' || c == '\\t' || c == ',' || c == ';' || c == '\\r');
    if ((++f == ${NAME}_N_FEATURES) != (c == '\\n' || c == EOF)) {
      fprintf(stderr, "row %ld: %d numbers are needed\\n", line, ${NAME}_N_FEATURES);
      return 1;
    }
    if (f < ${NAME}_N_FEATURES) {
      ungetc(c, stdin);
      continue;
    }
    f = 0;
    ++line;
${show_label}
    putchar('\\t');
    ${name}_scores(x, s);
    for (c = 0; c < ${NAME}_N_CLASSES; ++c) printf("%s%.9g", c ? " " : "", (double)s[c]);
${show_probabilities}\
    putchar('\\n');
  }
  if (feof(stdin)) return 0;
  fprintf(stderr, "row %ld: not a number\\n", line);
  return 1;
}
#endif

#endif"""

SHOW_TEXT = """\
    printf("%s", ${name}_classes[${name}_predict(x)]);"""

SHOW_NUMBER = """\
    printf("%ld", (long)${name}_classes[${name}_predict(x)]);"""

SHOW_LONG_NUMBER = """\
    printf("%lld", ${name}_classes[${name}_predict(x)]);"""

SHOW_LABELS = """\
    {
      int y[${NAME}_N_CLASSES];
      ${name}_predict(x, y);
      for (c = 0; c < ${NAME}_N_CLASSES; ++c) printf("%s%d", c ? " " : "", y[c]);
    }"""

SHOW_PROBABILITIES = """\
    putchar('\\t');
    ${name}_probabilities(x, s);
    for (c = 0; c < ${NAME}_N_CLASSES; ++c) printf("%s%.9g", c ? " " : "", (double)s[c]);
"""

# --- hyperplanes and kernels --------------------------------------------------------------

FMA = """\
/* a * b + c */
static inline float ${name}_fma(float a, float b, float c)
{
#ifdef MULTIPLANE_FMA
  return fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
"""

NOTHING = """\
  int c;
  (void)x; /* nothing has been learnt yet */
  for (c = 0; c < ${NAME}_N_CLASSES; ++c) p[c] = 0;"""

# Class c owns the hyperplanes from first[c] to first[c + 1].
HYPERPLANES = """\
  const float *w = ${name}_coef;
  int c, f, j;
  for (c = 0; c < ${NAME}_N_CLASSES; ++c)
    for (j = ${name}_first[c]; j < ${name}_first[c + 1]; ++j) {
      float s = ${name}_intercept[j];
      for (f = 0; f < ${NAME}_N_FEATURES; ++f) s = ${name}_fma(x[f], w[f], s);
      if (j == ${name}_first[c] || s > p[c]) p[c] = s;
      w += ${NAME}_N_FEATURES;
    }"""

# After that, if some classes own nothing.
ABSENT = """
  { /* a class without hyperplanes: a little less than the lowest score */
    float least = HUGE_VALF;
    for (c = 0; c < ${NAME}_N_CLASSES; ++c)
      if (${name}_first[c] < ${name}_first[c + 1] && p[c] < least) least = p[c];
    for (c = 0; c < ${NAME}_N_CLASSES; ++c)
      if (${name}_first[c] == ${name}_first[c + 1]) p[c] = nextafterf(least, -HUGE_VALF);
  }"""

KERNEL = """\
  const float *v = ${name}_vectors, *a = ${name}_coef;
  int c, f, j;
  for (c = 0; c < ${NAME}_N_CLASSES; ++c) p[c] = 0;
  for (j = 0; j < ${n_vectors}; ++j) {
    float k = 0;
    for (f = 0; f < ${NAME}_N_FEATURES; ++f) k += ${term};
${value}    for (c = 0; c < ${NAME}_N_CLASSES; ++c) p[c] += k * a[c];
    v += ${NAME}_N_FEATURES;
    a += ${NAME}_N_CLASSES;
  }"""

KERNEL_VALUES = {
    "linear": "",
    "rbf": "    k = expf(-${gamma} * k);\n",
    "sigmoid": "    k = tanhf(${gamma} * k + ${coef0});\n",
    "poly": """\
    {
      float base = ${gamma} * k + ${coef0};
      int left;
      k = 1;
      for (left = ${degree}; left; left >>= 1, base *= base)
        if (left & 1) k *= base;
    }
""",
}

# --- least squares: weighed features are added to `out`, n numbers ------------------------

ADD = """\
static inline void ${name}_add(${real} z, const ${real} *W, int n, ${real} *out)
{
  int c;
  for (c = 0; c < n; ++c) out[c] += z * W[c];
}
"""

COPY = """\
static inline void ${name}_copy(const ${real} *from, int n, ${real} *to)
{
  int c;
  for (c = 0; c < n; ++c) to[c] = from[c];
}
"""

DOT = """\
static inline ${real} ${name}_dot(const ${input} *x, const ${real} *w, int d)
{
  ${real} s = 0;
  int f;
  for (f = 0; f < d; ++f) s += x[f] * w[f];
  return s;
}
"""

PROJECT = """\
/* Along principal axes, seen from the mean. */
static inline void ${name}_project(const ${x} *x, ${real} *u)
{
  const ${real} *axis = ${axes};
  int f, j;
  for (j = 0; j < ${n_axes}; ++j, axis += ${NAME}_N_FEATURES) {
    u[j] = 0;
    for (f = 0; f < ${NAME}_N_FEATURES; ++f) u[j] += (x[f] - ${mean}[f]) * axis[f];
  }
}
"""

STANDARD = """\
static inline void ${name}_standard(const ${input} *x, int d, const ${real} *shift,
    const ${real} *scale, const ${real} *W, int n, ${real} *out)
{
  int f;
  for (f = 0; f < d; ++f, W += n) ${name}_add((x[f] - shift[f]) * scale[f], W, n, out);
}
"""

COLUMNS = """\
static inline void ${name}_columns(const ${input} *x, int d, const int *column, const ${real} *W,
    int n, ${real} *out)
{
  int f;
  for (f = 0; f < d; ++f, W += n) ${name}_add(x[column[f]], W, n, out);
}
"""

FOURIER = """\
/* Weights of a cosine and of its sine follow each other. */
static inline void ${name}_fourier(const ${input} *x, int d, int cosines, int sines, ${real} scale,
    const ${real} *w, const ${real} *W, int n, ${real} *out)
{
  int j;
  for (j = 0; j < cosines; ++j, w += d) {
    const ${real} angle = ${name}_dot(x, w, d);
    ${name}_add(scale * cos${f}(angle), W, n, out);
    W += n;
    if (j >= sines) continue;
    ${name}_add(scale * sin${f}(angle), W, n, out);
    W += n;
  }
}
"""

LOGITS = """\
static inline void ${name}_logits(const ${input} *x, int d, int m, const ${real} *w,
    const ${real} *b, const ${real} *W, int n, ${real} *out)
{
  int j;
  for (j = 0; j < m; ++j, w += d, W += n)
    ${name}_add(0.5${f} * tanh${f}(${name}_dot(x, w, d) + b[j]) + 0.5${f}, W, n, out);
}
"""

PRODUCTS = """\
static inline void ${name}_products(const ${input} *x, int d, int m, int degree, const ${real} *w,
    const ${real} *b, const ${real} *W, int n, ${real} *out)
{
  int e, j;
  for (j = 0; j < m; ++j, W += n) {
    ${real} z = 1;
    for (e = 0; e < degree; ++e, w += d) z *= ${name}_dot(x, w, d) + *b++;
    ${name}_add(z, W, n, out);
  }
}
"""

POWERS = """\
/* Powers of the predictions so far, as features. */
static inline void ${name}_powers(const ${real} *p, int power, const ${real} *W, ${real} *out)
{
  int c, e;
  for (c = 0; c < ${NAME}_N_CLASSES; ++c, W += ${NAME}_N_CLASSES) {
    ${real} z = p[c];
    for (e = 1; e < power; ++e) z *= p[c];
    ${name}_add(z, W, ${NAME}_N_CLASSES, out);
  }
}
"""

# Geometry is written into it; q holds the averages of a cell beside each other, those of responses
# above `high` first. A patch in the mirror is one read backwards in each line.
POOL = """\
/* Rectified responses of all patches to m filters, averaged over the cells of a grid. */
static inline void ${name}_pool(const ${x} *x, int m, const ${real} *filters, const ${real} *high,
                                const ${real} *low, ${real} *q)
{
  ${real} patch[${inputs}];
  int side, down, across, i, j, h, k, n;
  for (n = 0; n < ${cells} * 2 * m; ++n) q[n] = 0;
  for (side = 0; side < ${sides}; ++side)
    for (down = 0; down < ${down}; ++down)
      for (across = 0; across < ${across}; ++across) {
        const int cell = down * ${pool} / ${down} * ${pool} + across * ${pool} / ${across};
        const ${real} share = ${share}[cell], *w = filters;
        ${real} *up = q + cell * 2 * m, *under = up + m;
        ${real} norm = 1;
        for (i = n = 0; i < ${patch}; ++i)
          for (j = 0; j < ${patch}; ++j) {
            const int line = across * ${stride} + j;
            const int at = side ? ${width} - 1 - line : line;
            const ${x} *pixel = x + ((down * ${stride} + i) * ${width} + at) * ${channels};
            for (h = 0; h < ${channels}; ++h) patch[n++] = pixel[h] - ${shift};
          }
${contrast}        for (k = 0; k < m; ++k, w += ${inputs}) {
          ${real} r = 0;
          for (n = 0; n < ${inputs}; ++n) r += patch[n] * w[n];
          r /= norm;
          up[k] += share * (r > high[k] ? r - high[k] : 0);
          under[k] += share * (r < low[k] ? low[k] - r : 0);
        }
      }
${root}}
"""

CONTRAST = """\
        {
          ${real} mean = 0, square = 0;
          for (n = 0; n < ${inputs}; ++n) mean += patch[n] / ${inputs};
          for (n = 0; n < ${inputs}; ++n) square += (patch[n] - mean) * (patch[n] - mean);
          norm = sqrt${f}(square / ${inputs} + ${flat});
        }
"""

ROOT = """\
  for (n = 0; n < ${cells} * 2 * m; ++n) q[n] = sqrt${f}(q[n] + ${floor});
"""

PAIRS = """\
/* Averages, standardised. */
static inline void ${name}_pairs(${real} *q, int d, const ${real} *mean, const ${real} *scale,
    int kept, const int *which, const ${real} *W, int n, ${real} *out)
{
  int i;
  for (i = 0; i < d; ++i) q[i] = (q[i] - mean[i]) * scale[i];
  for (i = 0; i < kept; ++i, W += n) ${name}_add(q[which[i]], W, n, out);
}
"""

MULTIPLIED = """\
/* Products of two of them, standardised too. */
static inline void ${name}_multiplied(const ${real} *q, int d, const int *left, const int *right,
    const ${real} *mean, const ${real} *scale, const ${real} *W,
    int n, ${real} *out)
{
  int i;
  for (i = 0; i < d; ++i, W += n)
    ${name}_add((q[left[i]] * q[right[i]] - mean[i]) * scale[i], W, n, out);
}
"""

# --- probabilities, in place --------------------------------------------------------------

LINKS = {
    "softmax": """\
static inline void ${name}_softmax(${real} *p)
{
  ${real} top = p[0], sum = 0;
  int c;
  for (c = 1; c < ${NAME}_N_CLASSES; ++c)
    if (p[c] > top) top = p[c];
  for (c = 0; c < ${NAME}_N_CLASSES; ++c) sum += p[c] = exp${f}(p[c] - top);
  for (c = 0; c < ${NAME}_N_CLASSES; ++c) p[c] /= sum;
}
""",
    "logistic": """\
static inline void ${name}_logistic(${real} *p)
{
  int c;
  for (c = 0; c < ${NAME}_N_CLASSES; ++c) p[c] = 1 / (1 + exp${f}(-p[c]));
}
""",
    "simplex": """\
/* The nearest probability vector: max(p - theta, 0), where theta is the greatest of
   (the sum of the j greatest entries - 1) / j. */
static inline void ${name}_simplex(${real} *p)
{
  ${real} sorted[${NAME}_N_CLASSES], sum = 0, theta = -1;
  int c, j;
  for (c = 0; c < ${NAME}_N_CLASSES; ++c) {
    for (j = c; j > 0 && sorted[j - 1] < p[c]; --j) sorted[j] = sorted[j - 1];
    sorted[j] = p[c];
  }
  for (j = 1; j < ${NAME}_N_CLASSES; ++j) {
    sum += sorted[j] - sorted[0]; /* seen from the greatest: 1 is not lost beside it */
    if ((sum - 1) / (j + 1) > theta) theta = (sum - 1) / (j + 1);
  }
  for (c = 0; c < ${NAME}_N_CLASSES; ++c) {
    p[c] -= sorted[0];
    p[c] = p[c] > theta ? p[c] - theta : 0;
  }
}
""",
    "cube": """\
static inline void ${name}_cube(${real} *p)
{
  int c;
  for (c = 0; c < ${NAME}_N_CLASSES; ++c) p[c] = p[c] < 0 ? 0 : p[c] > 1 ? 1 : p[c];
}
""",
}
