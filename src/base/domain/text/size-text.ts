// Sizes of files, for people.

/** In the largest unit that leaves a digit before the point, with three digits in all; thousands, as disks are sold. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  const units = ["kB", "MB", "GB", "TB"];
  const index = Math.min(Math.floor(Math.log10(bytes) / 3), units.length) - 1;
  const value = bytes / 1000 ** (index + 1);
  return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(3))} ${units[index]}`;
}
