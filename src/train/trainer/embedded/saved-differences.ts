// Remembers, in a file of the cache folder, how much the rounding of a base model changes log-probabilities.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { DifferenceMemory, Differences } from "../steps/base-precision.ts";

export function differencesIn(file: string): DifferenceMemory {
  return {
    read: () => {
      try {
        // Safe cast: `write` wrote the file, whole or not at all.
        return JSON.parse(readFileSync(file, "utf8")) as Differences;
      } catch {
        // The file is missing or damaged, so the caller compares again.
        return null;
      }
    },
    write: (differences) => {
      const partial = `${file}.${process.pid}.partial`;
      try {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(partial, JSON.stringify(differences));
        renameSync(partial, file);
      } catch {
        // A failed write only makes the next job compare again, so its error is ignored.
      }
    },
  };
}
