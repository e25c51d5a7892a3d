// Checks the history and the final state of a world against the promises. Pure: calls neither the stores nor the world,
// so it shares no bugs with them. Each rule names its findings.
import type { Operation, Remains } from "../history.ts";
import { jobFaults } from "./jobs.ts";
import { keptFaults } from "./kept.ts";
import { leftoverFaults } from "./leftovers.ts";
import { versionFaults } from "./versions.ts";

/** Returns descriptions of all broken promises; empty if there are none. */
export function checkHistory(history: readonly Operation[], remains: Remains): readonly string[] {
  return [jobFaults, versionFaults, keptFaults, leftoverFaults].flatMap((rule) => rule(history, remains));
}
