// Names of training runs, samplers and saved weights in the Tinker API. A run is a trained model. The run's id and the
// model's name follow from each other, so no table maps one to the other.
import { invalid, quoted } from "../../base/domain/service-error.ts";

/** Project of models that are trained through the Tinker API with a key that is not limited to one project. */
export const sessionProject = "tinker";

export interface RunKey {
  readonly sessionId: string;
  /** Number of the model within its session. */
  readonly seqId: number;
}

const sessionPattern = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";

export function runIdOf({ sessionId, seqId }: RunKey): string {
  return `${sessionId}:train:${seqId}`;
}

/** Parses the id of a run. Returns null if the text is not such an id. */
export function parseRunId(id: string): RunKey | null {
  const [, sessionId, seqId] = new RegExp(`^(${sessionPattern}):train:(\\d{1,9})$`).exec(id) ?? [];
  return sessionId === undefined ? null : { sessionId, seqId: Number(seqId) };
}

/** Returns the name of a run's trained model. */
export function modelNameOf({ sessionId, seqId }: RunKey): string {
  return `${sessionId}-train-${seqId}`;
}

/** Returns the run of a trained model; null for a model that no client of the Tinker API has made. */
export function runOfModel({ name }: { readonly name: string }): RunKey | null {
  const [, sessionId, seqId] = new RegExp(`^(${sessionPattern})-train-(\\d{1,9})$`).exec(name) ?? [];
  return sessionId === undefined ? null : { sessionId, seqId: Number(seqId) };
}

export function samplerIdOf(sessionId: string, seqId: number): string {
  return `${sessionId}:sample:${seqId}`;
}

/**
 * Kinds of saved weights: for training, with the state of the optimizer; only for sampling; or for other programs, which
 * download them.
 */
export const savedKinds = ["weights", "sampler_weights", "external_weights"] as const;

export type SavedKind = (typeof savedKinds)[number];

/** Saved weights of a run. */
export interface SavedPath extends RunKey {
  readonly kind: SavedKind;
  readonly name: string;
}

/** Returns the id of saved weights within their run. */
export function savedIdOf({ kind, name }: Pick<SavedPath, "kind" | "name">): string {
  return `${kind}/${name}`;
}

export function pathOf(run: RunKey, savedId: string): string {
  return `tinker://${runIdOf(run)}/${savedId}`;
}

/**
 * Parses the path of saved weights.
 *
 * @throws ServiceError `invalid` for another text
 */
export function parsePath(path: string): SavedPath {
  const [, id = "", kind = "", name = ""] = /^tinker:\/\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
  const run = parseRunId(id);
  const known = savedKinds.find((each) => each === kind);
  if (run !== null && known !== undefined && isSavedName(name)) return { ...run, kind: known, name };
  throw invalid(
    `${quoted(path)} is no path of saved weights; it must be tinker://<run>/<kind>/<name>, with a run of this server and the kind ${savedKinds.join(", ")}.`,
  );
}

/** True if saved weights may have this name. */
export function isSavedName(name: string): boolean {
  return /^[\w.-]{1,255}$/.test(name) && !/^\.+$/.test(name);
}
