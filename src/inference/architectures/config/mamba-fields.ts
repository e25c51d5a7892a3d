// Checks the Mamba-2 settings of config.json. The names of these settings depend on the model's family.
import type { ConfigReader } from "./config-reader.ts";

/** Maximum number of positions that a convolution depends on. */
export const kernelSizeMax = 64;

/** Reads the number of groups, which must divide the number of heads. */
export function groupCount(
  reader: ConfigReader,
  field: string,
  { heads, fallback }: { readonly heads: number; readonly fallback: number },
): number {
  const groups = reader.count(field, fallback);
  if (heads % groups !== 0) reader.refuse(field, `${heads} heads cannot be divided evenly`);
  return groups;
}

/** Adds a fault if the activation is not silu. */
export function requireSilu(reader: ConfigReader, field: string): void {
  if ((reader.get(field) ?? "silu") !== "silu")
    reader.refuse(field, "silu is computed in Mamba layers; use a model with it");
}
