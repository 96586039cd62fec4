/* Another mathematical library, as far as a result can tell: loaded before the real one, it moves
   a quarter of all results up by one unit in the last place, and a quarter down. Which, is decided
   by the bits of the argument, so that a run repeats. Whole numbers stay: exp(0) is 1 everywhere.

   gcc -O2 -shared -fPIC -fno-builtin -o ulp.so tools/ulp.c -ldl -lm */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static double moved(double result, double argument) {
  uint64_t bits;
  memcpy(&bits, &argument, sizeof bits);
  bits = (bits ^ (bits >> 31)) * 0x7fb5d329728ea185u;
  bits = (bits ^ (bits >> 27)) * 0x81dadef4bc2dd44du;
  bits ^= bits >> 33;
  if (!isfinite(result) || result == rint(result)) return result;
  if (bits % 4 == 0) return nextafter(result, INFINITY);
  if (bits % 4 == 1) return nextafter(result, -INFINITY);
  return result;
}

#define OF_ONE(name)                                              \
  double name(double x) {                                         \
    static double (*real)(double);                                \
    if (!real) real = (double (*)(double))dlsym(RTLD_NEXT, #name); \
    return moved(real(x), x);                                     \
  }

#define OF_TWO(name)                                                              \
  double name(double x, double y) {                                               \
    static double (*real)(double, double);                                        \
    if (!real) real = (double (*)(double, double))dlsym(RTLD_NEXT, #name);         \
    return moved(real(x, y), x + 1.618 * y);                                      \
  }

OF_ONE(exp)
OF_ONE(exp2)
OF_ONE(expm1)
OF_ONE(log)
OF_ONE(log2)
OF_ONE(log10)
OF_ONE(log1p)
OF_ONE(sin)
OF_ONE(cos)
OF_ONE(tan)
OF_ONE(asin)
OF_ONE(acos)
OF_ONE(atan)
OF_ONE(sinh)
OF_ONE(cosh)
OF_ONE(tanh)
OF_ONE(cbrt)
OF_ONE(erf)
OF_ONE(erfc)
OF_ONE(lgamma)
OF_ONE(tgamma)
OF_TWO(pow)
OF_TWO(atan2)
OF_TWO(hypot)
