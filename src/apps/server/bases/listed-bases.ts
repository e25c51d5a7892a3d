// Describes base models for lists of models and for health checks.
import { unreachable } from "../../../base/domain/assert.ts";
import type { EngineState } from "../../../base/domain/generation.ts";
import { servedContextLength } from "../../../inference/chat/served-base.ts";
import type { EngineHealth } from "../../../api/http/dependencies.ts";
import type { ListedBase } from "../../../api/wire/models/served-model.ts";
import { listedReplies } from "./log-base.ts";
import { loadFaultOf, loadFaults, type FailedBase } from "./failed-bases.ts";
import type { EngineBase } from "./served-bases.ts";

/**
 * Returns the list entries of the named bases, in the order of `names`.
 *
 * @param weightsOf returns the hash of a base's weights; null if unknown
 */
export function listedBases(
  names: readonly string[],
  {
    bases,
    failed,
    weightsOf,
  }: {
    readonly bases: readonly EngineBase[];
    readonly failed: readonly FailedBase[];
    readonly weightsOf: (base: string) => string | null;
  },
): readonly ListedBase[] {
  const served = bases.map((base) => ({ ...listedBase(base), weightsHash: weightsOf(base.model.name) }));
  const listed = [...served, ...failed.map(listedFailure)];
  return names.flatMap((name) => listed.find((one) => one.name === name) ?? []);
}

function listedFailure({ name, reason }: FailedBase): ListedBase {
  return {
    name,
    contextLength: null,
    vocabularySize: null,
    isExact: null,
    device: null,
    replies: null,
    presence: { status: "failed", reason },
    memoryBytes: 0,
    keyValueBytes: 0,
    files: null,
    weightsHash: null,
  };
}

function listedBase(base: EngineBase): Omit<ListedBase, "weightsHash"> {
  return {
    name: base.model.name,
    contextLength: servedContextLength(base),
    vocabularySize: base.vocabularySize,
    isExact: base.engine.capabilities.isExact,
    device: base.device,
    replies: listedReplies(base.replies),
    presence: presenceOf(stateOf(base)),
    memoryBytes: base.engine.bytes,
    keyValueBytes: base.keyValueBytes,
    files: base.files,
  };
}

/** Returns the engine's state, or a failed state if the tokenizer cannot be read. */
function stateOf({ engine, texts }: Pick<EngineBase, "engine" | "texts">): EngineState {
  return texts.fault === null ? engine.status().state : { kind: "failed", reason: texts.fault };
}

/**
 * Returns the health of all engines: the worst state among the bases that could be loaded. The reason names the bases
 * that could not be loaded. These make the server unhealthy only if no base at all could be loaded.
 *
 * @param isUp true once the start has finished
 */
export function engineHealth(
  bases: readonly EngineBase[],
  failed: readonly FailedBase[],
  { isUp }: { readonly isUp: boolean },
): EngineHealth {
  const order = ["ready", "unloaded", "loading", "starting", "restarting", "stopped", "failed"] as const;
  const models = Object.fromEntries([
    ...bases.map((base) => [base.model.name, shownPresence(presenceOf(stateOf(base)))] as const),
    ...failed.map(({ name, reason }) => [name, shownPresence({ status: "failed", reason })] as const),
  ]);
  const faults = loadFaults(bases, failed).join(" ");
  const usable = bases.filter((base) => loadFaultOf(base) === null);
  if (usable.length === 0) return { state: "failed", reason: faults, models };
  const all = usable.map((base) => ({ name: base.model.name, state: base.engine.status().state }));
  const { name, state } = all.reduce((one, other) =>
    order.indexOf(other.state.kind) > order.indexOf(one.state.kind) ? other : one,
  );
  const isWell = state.kind === "ready" || state.kind === "unloaded" || state.kind === "loading";
  if (isWell && !isUp) return { state: "starting", reason: "Warm-up is running.", models };
  return isWell
    ? { state: "ready", reason: faults, models }
    : { state: state.kind, reason: `${name}: ${state.reason}`, models };
}

function shownPresence({ status, reason }: ListedBase["presence"]): string {
  return reason === "" ? status : `${status}: ${reason}`;
}

/** Returns the health of a server that only trains and therefore starts no engine. */
export function idleHealth(
  bases: readonly Pick<EngineBase, "model">[],
  failed: readonly FailedBase[],
  { isUp }: { readonly isUp: boolean },
): EngineHealth {
  const models = Object.fromEntries([
    ...bases.map(({ model }) => [model.name, "unloaded: this server only trains"] as const),
    ...failed.map(({ name, reason }) => [name, shownPresence({ status: "failed", reason })] as const),
  ]);
  const faults = failed.map(({ reason }) => reason).join(" ");
  return { state: isUp ? "ready" : "starting", reason: isUp ? faults : "It has not started yet.", models };
}

/** Converts an engine's state to the status in lists. */
function presenceOf(state: EngineState): ListedBase["presence"] {
  switch (state.kind) {
    case "ready":
      return { status: "loaded", reason: "" };
    case "unloaded":
    case "loading":
    case "failed":
      return { status: state.kind, reason: state.reason };
    case "starting":
    case "restarting":
      return { status: "loading", reason: state.reason };
    case "stopped":
      return { status: "unloaded", reason: state.reason };
    default:
      return unreachable(state);
  }
}
