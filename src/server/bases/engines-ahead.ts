// The processes of the engines, started before the server itself is loaded: both take about as long, and there is a core
// for each. Loads little, so that they start at once; the models come to them later, from the engines.
import { startEngineAhead } from "../../engine/embedded-engine.ts";
import { computeEnvironment } from "../../runtime/environment.ts";
import { addedBases } from "../library/added-models.ts";
import { addToChildEnvironment, hideSecretsFromChildren, type HoneConfig } from "../config.ts";

/** Settles what the processes that this one starts see of its environment. */
export function settleChildEnvironment(): void {
  addToChildEnvironment(computeEnvironment);
  hideSecretsFromChildren();
}

/** Starts a process for each engine that the server which is about to be made is sure to load. */
export function startEnginesAhead({ server, models }: HoneConfig): void {
  settleChildEnvironment();
  // Which ones fit is not known yet, but that the default model does.
  const count = models.memoryBytes > 0 ? 1 : baseCount(server);
  for (let index = 0; index < count; index++) startEngineAhead();
}

function baseCount({ model: named, builtInModel, data }: HoneConfig["server"]): number {
  return (named.length || addedBases(data).length) + (builtInModel === "on" ? 1 : 0);
}
