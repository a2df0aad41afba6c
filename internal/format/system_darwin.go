package format

// From sys/unistd.h of macOS; x/sys/unix does not have them there.
const seekHole, seekData = 3, 4
