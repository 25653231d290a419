"""Every tolerance that a test may use, each with its derivation. Exact routines need none.

u = 2**-53 is the unit roundoff of float64; an ulp of Y > 0 is at least u Y and at most 2 u Y.
"""

from __future__ import annotations

from fractions import Fraction

U = 2.0**-53

CENTRED_MEAN = Fraction(2 * U)
"""The mean that `centred` subtracts last, at most 2u max|x| and at most D, is off by 2u of itself."""

CENTRED_SECOND_ORDER = Fraction(64 * U * U)
"""Terms in u**2 of `centred`, relative to the largest deviation D: for up to 40 entries log2(d)**2 < 32 of
them from the sum, and a few from adding up the error terms."""

LAYER_NORM = 8 * U
"""|computed - exact| <= 8 u Y for each output of `layer_norm`, Y the row's largest absolute output.

Centred values: u relative, plus a common 2u Y sigma from the mean (lntheory.base.compensated.centred). Mean
square: 2u from the centred values (the common error is orthogonal to them), u from squaring, u from the
compensated sum, u from dividing by d: 5u; its root 2.5u + u. The quotient adds u. In all
(u + 3.5u + u)|y| + 2u Y <= 7.5u Y, and the terms in u**2 (log2(d)**2 of them) stay below u Y/2 for
every d that fits in memory.
"""

RMS_NORM = 4 * U
"""|computed - exact| <= 4 u Y for each output of `rms_norm`: mean square 3u, root 1.5u + u, quotient u."""

SUBNORMAL = 2.0**-1074
"""Outputs below 2**-1022 (possible only with eps > 0) are rounded to multiples of 2**-1074, once."""

SSR = 64 * U
"""|ssr - exact| <= 64 u exact for `ssr`, for at most 12 samples and 5 features.

Within: centred values u relative (the common error of the mean is orthogonal to them to first order),
hence 2u, squares u, the compensated sum over samples u, the plain sum over features (positive terms) 4u:
8u of SS_w.
Between: class means of the centred values are off by 4u D, where D <= sqrt(12) rms is the feature's
largest deviation; that moves SS_b = sum n_k (m_k - m)**2 by at most 2 * 4u D sum n_k |m_k - m|
<= 8u sqrt(12) SS(X) < 28u SS(X), and roots of counts, products, squares and sums add 10u. The denominator
is thus off by at most 38u, the numerator by 8u, the quotient adds u: 47u, rounded up to a power of two.
"""

SSR_STREAMING = 64 * U
"""|streaming - one-shot| <= 64 u max(n_samples, n_features) for `ssr`: each sample enters the triangular
factor by one orthogonal transformation of norm-wise relative error a few dozen u (Householder, columns of
at most n_features + n_batch entries) and each merged mean adds a few u of the feature's range."""

PLANE = 64 * U
"""Plane coordinates and centres of `lntheory.circle`, relative to the longest vector involved: three
products and two sums of numbers rounded once (5u) and a division by sqrt(3) (1.5u) for the point; as much for
the test's own way from plane to space (7u) and back; a cross product of two differences doubles each and
adds 3u: below 40u."""

HESSIAN_INDICATOR = 16 * U
"""|computed - exact| <= 16 u exact for `hessian_indicator`: mean squares are off by 5u (see LAYER_NORM),
their squares by 11u, the inverses by 12u, the compensated sum of positive terms adds u, multiplying by a
small integer and dividing by another 2u: 15u, and u is left for terms in u**2."""

AMPLIFICATION = 28 * U
"""|computed - exact| <= 28 u exact for `amplification`: two mean squares 5u each, their quotient 11u, its
square 23u, the sum 24u, multiplication and division by integers 26u; the rest is for terms in u**2."""

AUTOMATIC_HESSIAN = 2.0**12 * U
"""Indicator from second derivatives by automatic differentiation in float64, relative, for six features of
standard normal samples shifted by at most 1: an entry is a sum of fewer than 100 products of at most 10
factors, each rounded, that are bounded by 3 |x|/sigma**3 <= 32 times the size of the largest entry."""

CENTRAL_DIFFERENCES = Fraction(1, 2**100)
"""Indicator from central second differences of step h = 2**-64 on balls of 600 bits, relative, at an
integer sample: a difference is off by h**2/6 times two fourth derivatives, below 2**10/sigma**4 each; the
largest entry is at least 1/(d**2 sigma**2) and sigma >= 1/2: below h**2 2**20 = 2**-108 of it."""

UNIT = {"float64": U, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""Unit roundoffs of the types that torch computes with."""

TORCH_NORM = 128
"""|computed - exact| <= 128 u (1 + M/sigma) (1 + Y) for each output of a layer of `lntheory.nn`, before the
affine map, for at most 128 numbers that share statistics: u is the unit roundoff of the computing type
(float32 for half types), M the largest number in absolute value, sigma = sqrt(variance + eps), Y the largest
output.

Torch's mean is updated, m + (x - m)/k: step k is off by 4u M/k + u M, which later steps dilute by k/128: 68u
M in all. The differences from it are off by as much, so that sigma is off by 68u M, and by another 68u sigma
from rounding a sum of 128 squares. Outputs are differences of x/sigma and mean/sigma, off by 2u M/sigma."""

TORCH_REORDERED = 2**10
"""The same outputs or gradients by torch in another order of operations, in units u of the largest entry:
sums of at most 128 products of outputs, each off by 2**7 u (see TORCH_NORM), whose errors rarely add up."""

TORCH_AFFINE = 4
"""Weight and bias add 4u of the largest output: a product, a sum, and one rounding to the result's type in
units of that type."""

PLAIN_LOOP = {"sgd": 2.0**10 * U, "adam": 2.0**30 * U}
"""Weights and losses after fifteen steps by two loops that differ in roundings alone, float64, relative or
(for entries of at most 1) absolute. A gradient is off by a few dozen u of its largest term; SGD at rate 0.05
adds up fifteen of them. Adam divides by the gradient's own size plus 1e-8: where the gradient is zero but for
roundings (a bias that the norm takes away again), a step of 0.05 * 2**6 u/1e-8 < 2**29 u goes anywhere."""

TWO_FORMULAS = 1e-9
"""Two formulas for one point, slope, cost or risk in float64, relative, or absolute for numbers of size 1:
far more than the roundings of either, and far less than what a wrong formula is off by."""

FOLD = 1e-6
"""The twin of a point under a fold, by the involution and by its formula in u = tan(angle/2): the denominator
2u - (p + q) is at least 2e-3 in the tests, so that a few roundings are magnified by its square."""

FOLD_SLOPE = 1e-12
"""A slope that is 0, by two formulas in float64: a few thousand roundings of numbers of size 1."""

MERGED_POINTS = 1e-4
"""Points of the unit circle that a layer of pair merging puts together."""

MERGED_SSR = 1e-4
"""What of the SSR may be left after a merge down to one point a class, with the safety that is asked for."""

ERROR_RATIO = 1e-6
"""An error over its bound, both themselves rounded in float64: at most 1, and a little for the rounding."""

WIDE = 2.0**-300
"""Two formulas in wide arithmetic, relative, or absolute for numbers of size 1."""

WIDE_INCIDENCE = 2.0**-400
"""A point on a line, in wide arithmetic: one determinant of numbers of size 1."""

WIDE_PLANE = 2.0**-500
"""The length of a direction in 512 bits, less 1: a product with itself leaves all but a dozen bits."""

TANGENT = 2.0**-48
"""A unit float64 point times the tangent's, less 1, in wide arithmetic: 32 u, for two points rounded once."""

NARROW = 1e-60
"""Widths of enclosures, in wide balls, of what is all but 0: one that says nothing is no use."""

NARROW_BALL = 1e-25
"""Radius of a normalized output in balls: one that says nothing is no use."""

NARROW_SSR, NARROW_LSSR = 1e-12, 1e-15
"""Widths of a certificate's enclosures of SSR and LSSR: ones that say nothing are no use."""

FLOAT_SSR, FLOAT_LSSR = 1e-9, 1e-6
"""SSR and LSSR of float64 points against a certificate's enclosure for the exact points. The points differ by
roundings, which a small eigenvalue of their covariance magnifies:
LSSR is compared where it is 1e-6 at least."""

ARC_MARGINS = 2.0**-50
"""Margins on arcs against margins in general balls, both rounded to float64, relative: 8 u."""

POINT_STATISTICS = 1e-14
"""Mean and deviation of a traced point, which LN makes 0 and 1: 90 u."""

FLOAT32_SCORES = 1e-6
"""Scores of a float32 net by float64 arithmetic written out in the test, relative or absolute."""

SMALL_SCORE_ERROR = 1e-6
"""A bound of the error of a score that has to be small to be of any use."""

FROM_TORCH = 2.0**-40
"""Scores of a net read from torch modules against the modules themselves, in float64, for scores of size 1:
2**13 u for a few layers of sums of at most a dozen products."""

LSSR_UPPER = 1e-3
"""An upper bound of LSSR of a float32 module against that of the same module in float64."""

UNCHANGED = {"rtol": 1e-3, "atol": 1e-4}
"""Outputs of a transformer in float32 before and after a swap that changes nothing but the implementation."""

CHANGED = 1e-2
"""What a swap that changes the norm changes at the very least in some output of such a model."""

UNIT_DIRECTION = 1e-12
"""The length of a direction that is normalized last."""

ERROR_BOUND, ERROR_BOUND_GROWTH = 1e-11, 1e-14
"""Error bounds of LSSR: of well-conditioned data, at most; and of normal data, in units of 8 n_samples."""

LSSR_ONE = 1e-14
"""LSSR of data whose class means coincide, which is 1: 90 u."""

LSSR_FAR_APART, LSSR_RELATIVE = 1e-15, 1e-12
"""LSSR of two clusters 1e8 apart with deviations of 1: about 1e-16, and known to that relative error."""

SEPARATED_SSR = 1e-20
"""SSR along a direction that separates the classes, of data whose LSSR is 0."""

CUTOFF = 1e-12
"""The cut-off of singular values against its formula, relative."""

CLIPPED = 2.0**-18
"""Weights after fifteen steps of SGD at rate 0.05 with momentum 0.1, once clipped to the norm 2 and once by
torch, which divides by the norm plus 1e-6: a gradient of norm 2 is off by 1e-6 in all, below 2**-19, and
fifteen steps of 0.05/0.9 times it add up to less than 2**-19, which later gradients at most double."""

FLOAT32 = 2.0**-24
"""Unit roundoff of float32, in which pixels are kept."""

STANDARDIZED = 8 * FLOAT32
"""Standardized pixels against the formula, or standardized twice, in units of the largest: mean and deviation
are taken in float64, and the quotient is rounded to float32 once or twice."""

STANDARDIZED_MOMENTS = 2.0**-20
"""Mean and mean square minus one of standardized pixels: each is off by a few units of 2**-24."""

MEAN_OF_METRICS = 1e-15
"""A mean or deviation of two accuracies against its formula."""

LSSR_ENCLOSURE = 1e-15
"""The width of an enclosure of an LSSR that was computed exactly and rounded outwards."""

MEAN_OF_TOKENS = 1e-12
"""A mean of at most a hundred cross-entropies added up in other parts, in float64, relative."""

OWN_LOSS = 1e-4
"""Forty epochs in float32 by a loss and by the same loss as a callable, which divides and multiplies by the
number of samples once more."""
