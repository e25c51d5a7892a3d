// Checks the history and final state of a world against the promises. Pure: uses neither stores nor the world, so it
// shares no bugs with them. Each rule reports its findings by name.
import type { Operation, Remains } from "../history.ts";
import { jobFaults } from "./jobs.ts";
import { keptFaults } from "./kept.ts";
import { leftoverFaults } from "./leftovers.ts";
import { versionFaults } from "./versions.ts";

/** Returns descriptions of all broken promises; empty if there are none. */
export function checkHistory(history: readonly Operation[], remains: Remains): readonly string[] {
  return [jobFaults, versionFaults, keptFaults, leftoverFaults].flatMap((rule) => rule(history, remains));
}
