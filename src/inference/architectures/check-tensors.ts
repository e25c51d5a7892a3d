// Compares the tensors of a file with the tensors that a model needs, and names the differences.
import type { StoredTensor } from "../../lib/model-files/stored-tensor.ts";

/**
 * Describes the differences: missing tensors, tensors with a wrong shape, and unknown tensors.
 *
 * @param isRedundant returns true for an unknown tensor that is harmless
 * @param shownAs returns the name that a tensor has in the file
 * @returns the first few faults in one line; null if there are none
 */
export function tensorFaults(
  stored: ReadonlyMap<string, StoredTensor>,
  wanted: readonly { readonly name: string; readonly shape: readonly number[] }[],
  {
    isRedundant,
    shownAs = (name) => name,
  }: {
    readonly isRedundant: (name: string) => boolean;
    readonly shownAs?: (name: string) => string;
  },
): string | null {
  const faults: string[] = [];
  const names = new Set(wanted.map(({ name }) => name));
  for (const { name, shape } of wanted) {
    const found = stored.get(name);
    if (found === undefined) faults.push(`${shownAs(name)} is missing`);
    else if (found.shape.join() !== shape.join()) {
      faults.push(
        `${shownAs(name)} is [${found.shape.join(", ")}], but the configuration requires [${shape.join(", ")}]`,
      );
    }
  }
  for (const name of stored.keys()) {
    if (!names.has(name) && !isRedundant(name)) faults.push(`${shownAs(name)} is unknown`);
  }
  if (faults.length === 0) return null;
  // Only the first few are shown, because the file of a different model could differ in thousands of tensors.
  const shown = faults.slice(0, 8).join("; ");
  return faults.length > 8 ? `${shown}; and ${faults.length - 8} more` : shown;
}
