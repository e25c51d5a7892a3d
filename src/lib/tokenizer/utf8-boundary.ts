// Where a run of bytes can be cut so that no UTF-8 character is split. Says nothing of what the bytes decode to.

/**
 * The length of the longest prefix that does not end inside a character which later bytes may still complete.
 * At most three bytes are left over. Bytes that can never become a character count as complete:
 * they decode to U+FFFD whatever follows, and waiting for them would delay text for nothing.
 */
export function completeLength(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if (isContinuation(byte)) continue;
    const second = back > 1 ? bytes[bytes.length - back + 1] : null;
    const waits = characterLength(byte) > back && (second === null || fitsAfter(byte, second));
    return waits ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** How many bytes a character with this first byte has; 1 for bytes that cannot begin one. */
function characterLength(first: number): number {
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xf0 && first <= 0xf4) return 4;
  return 1;
}

/** RFC 3629, section 4: four first bytes narrow what may come second (no overlong forms, surrogates, or beyond U+10FFFF). */
function fitsAfter(first: number, second: number): boolean {
  if (first === 0xe0) return second >= 0xa0;
  if (first === 0xed) return second <= 0x9f;
  if (first === 0xf0) return second >= 0x90;
  if (first === 0xf4) return second <= 0x8f;
  return true;
}
