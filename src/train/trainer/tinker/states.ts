// States that a server keeps, by their names there: `tinker://<model>/weights/<name>`.
import { invalid, quoted, ServiceError } from "../../../base/domain/service-error.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { TinkerConnection } from "./http/connection.ts";
import { isGone, jsonOf, refusalOf } from "./http/refusals.ts";
import type { TrainerElsewhere } from "./trainer-address.ts";

interface StatePlace {
  readonly modelId: string;
  readonly name: string;
}

/** @throws ServiceError `invalid` for what is no such name */
export function parseState(state: string): StatePlace {
  const [, modelId, name] = /^tinker:\/\/([\w:.-]+)\/weights\/([\w-]+)$/.exec(state) ?? [];
  if (modelId !== undefined && name !== undefined) return { modelId, name };
  throw invalid(`${quoted(state)} is no state of a Tinker server.`);
}

/** Removes a state; one that is gone is no error. @throws ServiceError where the server does not */
export async function discardState(connection: TinkerConnection, state: string): Promise<void> {
  const { modelId, name } = parseState(state);
  const path = `${checkpointsOf(modelId)}/weights/${name}`;
  const reply = await connection.ask({ method: "DELETE", path }, { isRepeatable: true });
  if (reply.status >= 300 && !isGone(reply)) throw refusalOf(reply, "the removal of a state");
}

/** Somebody may wait who deletes a model. */
const hasty = { requestMs: 5000, patienceMs: 5000 };

/** As {@link discardState}, by whoever has no trainer open. */
export async function discardStateThere(
  { address, apiKey }: TrainerElsewhere,
  state: string,
  clock: Clock,
): Promise<void> {
  const connection = new TinkerConnection({ url: address.url, apiKey, clock, limits: hasty });
  await discardState(connection, state);
}

/**
 * Removes the other states of a state's model, which nobody knows of: a model saves for one run, that run goes on from this
 * one, and a process that died may have saved more than it could write down. What cannot be removed stays.
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
      // Some say `weights/<name>`.
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
