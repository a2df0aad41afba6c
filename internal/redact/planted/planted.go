// Package planted makes up secrets of 60 kinds for tests, with the places where
// they stand: environment, arguments, configuration and inputs. None is real.
package planted

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf16"
)

// Made makes up n characters, different for each seed. No secret here is real.
// They are the same in every run; fewer characters of a seed are the beginning of more.
func Made(seed, n int) string {
	const set = "Qz7Rm2Kx9LwTb4VhJc6NpYs3DfGd8XkZ5aBeCgHiMnOqUrWt1EjFlPvSuIyAo0"
	var b strings.Builder
	x := uint32(seed)*2654435761 + 12345
	for range n {
		x = x*1664525 + 1013904223
		b.WriteByte(set[(x>>8)%uint32(len(set))])
	}
	return b.String()
}

// hexes makes up n hexadecimal digits, the same for the same seed.
func hexes(seed, n int) string {
	return strings.Map(func(c rune) rune { return rune("0123456789abcdef"[c%16]) }, Made(seed, n))
}

// A Plant is a place where a secret stands, and the part that nobody may find.
// Secret stands in the place as it is. What Text holds is said by the function that makes it.
type Plant struct{ Text, Secret string }

// Environment are assignments of variables.
// Each Text is NAME=value; Secret is the value or the part of it that must go.
func Environment() []Plant {
	var out []Plant
	add := func(name, value, secret string) { out = append(out, Plant{name + "=" + value, secret}) }
	whole := func(name, value string) { add(name, value, value) }
	whole("HF_TOKEN", "hf_"+Made(1, 30))
	whole("ANY1", "ghp_"+Made(2, 36))
	whole("ANY2", "github_pat_"+Made(3, 40))
	whole("ANY3", "glpat-"+Made(4, 20))
	whole("ANY4", "sk-proj-"+Made(5, 30))
	whole("ANY5", "sk_live_"+Made(6, 24))
	whole("ANY6", "nvapi-"+Made(7, 40))
	whole("ANY7", "xoxb-"+Made(8, 24))
	whole("ANY8", "AKIA"+strings.ToUpper(hexes(9, 16)))
	whole("ANY9", "AIza"+Made(10, 35))
	whole("ANY10", "ya29."+Made(11, 40))
	whole("ANY11", "eyJ"+Made(12, 20)+"."+Made(13, 30)+"."+Made(14, 30))
	whole("ANY12", "-----BEGIN RSA PRIVATE KEY-----\n"+Made(15, 60)+"\n"+Made(16, 60)+"\n-----END RSA PRIVATE KEY-----")
	whole("ANY13", "SG."+Made(17, 22)+"."+Made(18, 43))
	whole("ANY14", "123456789:"+Made(19, 35))
	whole("ANY15", "M"+Made(20, 23)+"."+Made(21, 6)+"."+Made(22, 27))
	whole("ANY16", "hvs."+Made(23, 24))
	whole("ANY17", "AGE-SECRET-KEY-1"+strings.ToUpper(Made(24, 58)))
	whole("ANY18", hexes(25, 40))
	whole("ANY19", Made(26, 40))
	whole("DB_PASSWORD", "correct horse \"battery\" & <staple>")
	whole("PGPASSWORD", "pg-sesame-"+Made(27, 4))
	whole("AWS_SECRET_ACCESS_KEY", Made(28, 40))
	add("DATABASE_URL", "postgres://ann:dbpw-"+Made(29, 6)+"@db/x", "dbpw-"+Made(29, 6))
	add("HTTPS_PROXY", "http://u:px-"+Made(30, 6)+"@proxy:3128", "px-"+Made(30, 6))
	add("DOWNLOAD", "https://h/f?sig="+Made(31, 12), Made(31, 12))
	whole("REGISTRY_AUTH_B64", base64.StdEncoding.EncodeToString([]byte("ann:rg-"+Made(32, 8))))
	whole("NPM", "npm_"+Made(33, 36))
	return out
}

// Arguments are command lines.
// The first result is one command line with all of them; each Plant has its own words.
func Arguments() ([]string, []Plant) {
	var args []string
	var out []Plant
	add := func(secret string, words ...string) {
		args = append(args, words...)
		out = append(out, Plant{strings.Join(words, " "), secret})
	}
	env, eq, sep, short, login := "ev-"+Made(40, 9), "eq-"+Made(41, 9), "sp-"+Made(42, 9), "pp-"+Made(43, 9), "lg-"+Made(44, 9)
	add(env, "env", "SERVICE_TOKEN="+env)
	add(eq, "--token="+eq)
	add(sep, "--password", sep)
	add(short, "-p", short)
	add(login, "-u", "ann:"+login)
	bearer, api, query := "b3"+Made(45, 4), "ap-"+Made(46, 12), Made(47, 10)
	add(bearer, "-H", "Authorization: Bearer "+bearer)
	add(api, "--api-key", api)
	add(query, "https://h/x?access_token="+query)
	pw, odbc, js := "ul-"+Made(48, 8), "od-"+Made(49, 8), "js-"+Made(50, 8)
	add(pw, "https://bob:"+pw+"@host/x")
	add(odbc, "Driver=pg;Uid=ann;Pwd="+odbc+";")
	add(js, `{"user": "ann", "password": "`+js+`"}`)
	inner, netrc, secret := "in-"+Made(51, 8), "nr-"+Made(52, 8), "cs-"+Made(53, 10)
	add(inner, "sh", "-c", "curl -u ann:"+inner+" https://h")
	add(netrc, "machine h login ann password "+netrc)
	add(secret, "--client-secret="+secret)
	hook, pypi := Made(54, 24), "pypi-"+Made(55, 40)
	add(hook, "https://discord.com/api/webhooks/123456/"+hook)
	add(pypi, pypi)
	return args, out
}

// Config is a configuration with secrets below names of many kinds.
// The text is YAML; the Text of a Plant is the key.
func Config() (string, []Plant) {
	var out []Plant
	var b strings.Builder
	for i, key := range []string{"password", "api_key", "auth_token", "client_secret", "access_token", "passphrase", "private_key", "db_passwd"} {
		value := "cf-" + Made(60+i, 10)
		fmt.Fprintf(&b, "%s: %s\n", key, value)
		out = append(out, Plant{key, value})
	}
	kube, url := Made(70, 40), "cu-"+Made(71, 8)
	fmt.Fprintf(&b, "users:\n  - user:\n      token: %s\nstore: https://ann:%s@h/x\n", kube, url)
	return b.String(), append(out, Plant{"token", kube}, Plant{"store", url})
}

// Inputs are what the workload reads: names of models and data sets.
// Both lists have the same order.
func Inputs() ([]string, []Plant) {
	a, b, c, d, e, f := "im-"+Made(80, 8), Made(81, 20), "hf_"+Made(82, 30), "ds-"+Made(83, 8), Made(84, 16), "az-"+Made(85, 20)
	// Each has its credentials where a service of that kind expects them.
	names := []string{"https://ann:" + a + "@hub/model", "s3://bucket/data?X-Amz-Signature=" + b, "https://hub/m?token=" + c, "ftp://u:" + d + "@h/d", "https://h/d?sig=" + e, "DefaultEndpointsProtocol=https;AccountKey=" + f + ";"}
	return names, []Plant{{names[0], a}, {names[1], b}, {names[2], c}, {names[3], d}, {names[4], e}, {names[5], f}}
}

// Encoded are the ways in which files write a text.
// The text as it is comes first; UTF-16 of both byte orders comes last.
func Encoded(s string) [][]byte {
	js, _ := json.Marshal(s)
	out := [][]byte{[]byte(s), js[1 : len(js)-1], []byte(url.QueryEscape(s)), []byte(url.PathEscape(s)), []byte(base64.StdEncoding.EncodeToString([]byte(s)))}
	var le, be []byte
	for _, u := range utf16.Encode([]rune(s)) {
		le, be = append(le, byte(u), byte(u>>8)), append(be, byte(u>>8), byte(u))
	}
	return append(out, le, be)
}
