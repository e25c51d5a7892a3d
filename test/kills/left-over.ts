// Finds files in the data folder of a stopped server that nothing refers to.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Version numbers of each existing model. */
export type Steps = ReadonlyMap<string, readonly string[]>;

export function leftOver(dataFolder: string, steps: Steps): readonly string[] {
  const namesIn = (...parts: readonly string[]): readonly string[] =>
    existsSync(join(dataFolder, ...parts)) ? readdirSync(join(dataFolder, ...parts)) : [];
  const found = namesIn("jobs").map((name) => `jobs/${name}`);
  found.push(...namesIn().filter((name) => name.startsWith(".disk-check")));
  for (const server of namesIn("work"))
    found.push(...namesIn("work", server).map((name) => `work/${server}/${name}`));
  found.push(...namesIn("cache").filter((name) => name.includes("partial")));
  for (const modelId of namesIn("adapters")) {
    const known = steps.get(modelId);
    if (known === undefined) found.push(`adapters/${modelId}`);
    else
      for (const name of namesIn("adapters", modelId))
        if (!known.includes(name)) found.push(`adapters/${modelId}/${name}`);
  }
  return found;
}
