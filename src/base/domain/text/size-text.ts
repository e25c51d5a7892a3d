// Formats and parses sizes in decimal units (1 kB is 1000 bytes), which manufacturers of disks use.

const units = ["kB", "MB", "GB", "TB"];

/** Formats a size with three digits, in the largest unit in which its value is at least 1. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  const index = Math.min(Math.floor(Math.log10(bytes) / 3), units.length) - 1;
  const value = bytes / 1000 ** (index + 1);
  return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(3))} ${units[index]}`;
}

/** Returns the number of bytes that a text such as `20GB` or `5000000` means; null for any other text. */
export function readSize(text: string): number | null {
  const [, amount = "", unit = ""] = /^(\d{1,15})(|kB|MB|GB|TB)$/.exec(text) ?? [];
  const bytes = Number(amount) * 1000 ** (units.indexOf(unit) + 1);
  return amount === "" || !Number.isSafeInteger(bytes) ? null : bytes;
}
