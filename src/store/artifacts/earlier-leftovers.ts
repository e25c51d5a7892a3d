// What servers of version 0.1 and those before `work/` left in a data folder when they died: they wrote beside what they
// published, and marked models that they were removing. None of them runs beside a server of today.
import { rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { namesIn } from "./folder-names.ts";

/**
 * Removes it; returns its names, relative to the root.
 *
 * @param isKnown whether an artifact is somebody's, who keeps it
 */
export async function removeEarlierLeftovers(
  root: string,
  isKnown: (key: string) => Promise<boolean>,
): Promise<readonly string[]> {
  const left = (await namesIn(root)).filter((name) => name === "imports" || name.startsWith(".disk-check-"));
  for (const model of await namesIn(join(root, "adapters"))) {
    const key = `adapters/${model}`;
    const names = (await namesIn(join(root, key))).filter((name) => name.startsWith("."));
    const isUnkept = names.includes(".deleted") && !(await isKnown(key));
    left.push(...(isUnkept ? [key] : names.map((name) => `${key}/${name}`)));
  }
  for (const name of left) {
    await rm(join(root, name), { recursive: true, force: true });
    // A model that never came to have a version.
    if (name.startsWith("adapters/")) await rmdir(dirname(join(root, name))).catch(() => undefined);
  }
  return left;
}
