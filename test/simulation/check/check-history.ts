// Holds a history, and what was left, to what was promised. Pure: it has neither stores nor a world, so that it can be
// wrong in its own ways only. Each rule says what it found, by name.
import type { Operation, Remains } from "../history.ts";
import { jobFaults } from "./jobs.ts";
import { keptFaults } from "./kept.ts";
import { leftoverFaults } from "./leftovers.ts";
import { versionFaults } from "./versions.ts";

/** All that does not hold, for people; empty where everything does. */
export function checkHistory(history: readonly Operation[], remains: Remains): readonly string[] {
  return [jobFaults, versionFaults, keptFaults, leftoverFaults].flatMap((rule) => rule(history, remains));
}
