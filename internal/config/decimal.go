package config

import (
	"math/big"
	"strconv"
)

// decimal is coefficient * 10^exponent, as Python's decimal module keeps it.
type decimal struct {
	coefficient *big.Int
	exponent    int
}

// decimalDigits is the precision of Python's default context.
const decimalDigits = 28

func power(base int64, n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(n)), nil)
}

// decimalOf gives the exact value of a number; ok is false for one that is not
// finite.
func decimalOf(n *Node) (d decimal, ok bool) {
	switch n.kind {
	case Float:
		exact := new(big.Rat).SetFloat64(n.float)
		if exact == nil {
			return decimal{}, false
		}
		// The denominator is a power of two: 1/2^k is 5^k/10^k.
		k := exact.Denom().BitLen() - 1
		return decimal{new(big.Int).Mul(exact.Num(), power(5, k)), -k}, true
	case Bool:
		return decimal{big.NewInt(map[bool]int64{true: 1}[n.boolean]), 0}, true
	}
	b, ok := n.BigInt()
	return decimal{b, 0}, ok
}

// aligned gives the coefficients of two decimals for their lower exponent.
func aligned(a, b decimal) (x, y *big.Int, exponent int) {
	exponent = min(a.exponent, b.exponent)
	x = new(big.Int).Mul(a.coefficient, power(10, a.exponent-exponent))
	y = new(big.Int).Mul(b.coefficient, power(10, b.exponent-exponent))
	return x, y, exponent
}

func (d decimal) compare(other decimal) int {
	x, y, _ := aligned(d, other)
	return x.Cmp(y)
}

// add rounds the sum to decimalDigits, half to even.
func (d decimal) add(other decimal) decimal {
	x, y, exponent := aligned(d, other)
	sum := x.Add(x, y)
	away := big.NewInt(int64(sum.Sign()))
	surplus := len(new(big.Int).Abs(sum).String()) - decimalDigits
	if surplus <= 0 {
		return decimal{sum, exponent}
	}
	unit := power(10, surplus)
	rest := new(big.Int)
	sum.QuoRem(sum, unit, rest)
	half := rest.Abs(rest).Lsh(rest, 1).Cmp(unit)
	if half > 0 || half == 0 && sum.Bit(0) == 1 {
		sum.Add(sum, away)
	}
	return decimal{sum, exponent + surplus}
}

func (d decimal) float() float64 {
	f, _ := strconv.ParseFloat(d.coefficient.String()+"e"+strconv.Itoa(d.exponent), 64)
	return f
}
