// Trainer states that are saved on a server, which names them `tinker://<model>/weights/<name>`.
import { invalid, quoted, ServiceError } from "../../../base/domain/service-error.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { TinkerConnection } from "./http/connection.ts";
import { isGone, jsonOf, refusalOf } from "./http/refusals.ts";
import type { TrainerElsewhere } from "./trainer-address.ts";

interface StatePlace {
  readonly modelId: string;
  readonly name: string;
}

/**
 * Parses the name of a trainer state on a server.
 *
 * @throws ServiceError `invalid` for a malformed name
 */
export function parseState(state: string): StatePlace {
  const [, modelId, name] = /^tinker:\/\/([\w:.-]+)\/weights\/([\w-]+)$/.exec(state) ?? [];
  if (modelId !== undefined && name !== undefined) return { modelId, name };
  throw invalid(`${quoted(state)} is not a state of a Tinker server.`);
}

/**
 * Removes a trainer state from the server. A missing state is no error.
 *
 * @throws ServiceError if the server does not remove the state
 */
export async function discardState(connection: TinkerConnection, state: string): Promise<void> {
  const { modelId, name } = parseState(state);
  const path = `${checkpointsOf(modelId)}/weights/${name}`;
  const reply = await connection.ask({ method: "DELETE", path }, { isRepeatable: true });
  if (reply.status >= 300 && !isGone(reply)) throw refusalOf(reply, "the removal of a state");
}

/** Timeouts in milliseconds. They are short, because a user may be waiting while a model is deleted. */
const shortLimits = { requestMs: 5000, patienceMs: 5000 };

/** Like {@link discardState}, for callers that have no connection to the server. */
export async function discardRemoteState(
  { address, apiKey }: TrainerElsewhere,
  state: string,
  clock: Clock,
): Promise<void> {
  const connection = new TinkerConnection({ url: address.url, apiKey, clock, limits: shortLimits });
  await discardState(connection, state);
}

/**
 * Removes all states of a model on the server except the given one. A model saves states for one run only, and that run
 * continues from the given state. States that cannot be removed remain.
 */
export async function discardOthers(connection: TinkerConnection, state: string): Promise<void> {
  const { modelId, name } = parseState(state);
  try {
    const reply = await connection.ask(
      { method: "GET", path: checkpointsOf(modelId) },
      { isRepeatable: true },
    );
    const saved = jsonOf(reply, "a list of states")["checkpoints"];
    for (const each of Array.isArray(saved) ? (saved as readonly Saved[]) : []) {
      // Some servers list the id as `weights/<name>`, others as `<name>`.
      const other = String(each.checkpoint_id).split("/").at(-1) ?? name;
      if (each.checkpoint_type === "training" && other !== name)
        await discardState(connection, `tinker://${modelId}/weights/${other}`);
    }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
  }
}

interface Saved {
  readonly checkpoint_id?: unknown;
  readonly checkpoint_type?: unknown;
}

function checkpointsOf(modelId: string): string {
  return `training_runs/${modelId}/checkpoints`;
}
