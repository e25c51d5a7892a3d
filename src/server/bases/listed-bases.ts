// What lists of models and checks of health say of base models.
import { unreachable } from "../../domain/assert.ts";
import type { EngineState } from "../../domain/generation.ts";
import { servedContextLength } from "../../chat/served-base.ts";
import type { EngineHealth, ListedBase } from "../../http/dependencies.ts";
import { listedReplies } from "./announce-base.ts";
import type { EngineBase } from "./served-bases.ts";

/** What lists of models say of it. */
export function listedBase(base: EngineBase): ListedBase {
  return {
    name: base.model.name,
    contextLength: servedContextLength(base),
    vocabularySize: base.vocabularySize,
    isExact: base.engine.capabilities.isExact,
    device: base.device,
    replies: listedReplies(base.replies),
    presence: presenceOf(base.engine.status().state),
    memoryBytes: base.engine.bytes,
    keyValueBytes: base.keyValueBytes,
    files: base.files,
  };
}

/**
 * All engines as one: as well as the worst of them.
 *
 * @param isUp whether the start has come to its end
 */
export function engineHealth(
  bases: readonly EngineBase[],
  { isUp }: { readonly isUp: boolean },
): EngineHealth {
  const order = ["ready", "unloaded", "loading", "starting", "restarting", "stopped", "failed"] as const;
  const all = bases.map(({ model, engine }) => ({ name: model.name, state: engine.status().state }));
  const { name, state } = all.reduce((one, other) =>
    order.indexOf(other.state.kind) > order.indexOf(one.state.kind) ? other : one,
  );
  const models = Object.fromEntries(
    all
      .map((one) => [one.name, presenceOf(one.state)] as const)
      .map(([of, { status, reason }]) => [of, reason === "" ? status : `${status}: ${reason}`]),
  );
  const isWell = state.kind === "ready" || state.kind === "unloaded" || state.kind === "loading";
  if (isWell && !isUp) return { state: "starting", reason: "The first chats are being tried.", models };
  return isWell
    ? { state: "ready", reason: "", models }
    : { state: state.kind, reason: `${name}: ${state.reason}`, models };
}

/** The same of a server that only trains, whose engines are not started. */
export function idleHealth(
  bases: readonly Pick<EngineBase, "model">[],
  { isUp }: { readonly isUp: boolean },
): EngineHealth {
  const models = Object.fromEntries(
    bases.map(({ model }) => [model.name, "unloaded: this server only trains"]),
  );
  return { state: isUp ? "ready" : "starting", reason: isUp ? "" : "It has not begun yet.", models };
}

/** Whether a base is in memory, as lists say it. */
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
