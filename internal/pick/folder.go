package pick

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

const maxFolder = 60 // bytes of a region's name that its folder keeps

// plainFolder are names that are safe on every file system and cannot be
// mistaken for one that was made safe.
var (
	plainFolder = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)
	madeSafe    = regexp.MustCompile(`-[0-9a-f]{10}$`)
	reserved    = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9]|report)$`)
)

// Folder makes a name for the files of a region: its path where that is plain,
// else what is plain of it and a hash of the rest. Different regions have
// different folders, also where case does not count.
func Folder(path, style string) string {
	if style == "PushPop" && len(path) <= maxFolder && plainFolder.MatchString(path) && !madeSafe.MatchString(path) && !reserved.MatchString(path) {
		return path
	}
	var b strings.Builder
	for _, r := range strings.ToLower(path) {
		if b.Len() >= maxFolder {
			break
		}
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	name := strings.Trim(b.String(), "-_")
	if name == "" {
		name = "region"
	}
	sum := sha256.Sum256([]byte(style + "\x00" + path))
	return name + "-" + hex.EncodeToString(sum[:5])
}
