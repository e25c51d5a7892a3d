// Starts to train models: takes a slot, registers the model, and starts its process. A repeated request starts nothing.
import type { Caller } from "../../base/domain/access.ts";
import { present } from "../../base/domain/assert.ts";
import type { AdapterWish, TrainedModel } from "../../base/domain/model.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { Futures } from "./futures.ts";
import { LiveModel, type LiveModelOptions } from "./live-model.ts";
import type { Creation, Session } from "./open-sessions.ts";
import type { SessionResult } from "./results.ts";
import { modelNameOf, type RunKey, runIdOf, sessionProject } from "./run-names.ts";
import type { SavedPlace, SavedWeights } from "./saved-weights.ts";
import type { ModelRequest, SessionDependencies } from "./session-requests.ts";
import { startWeights } from "./start-weights.ts";
import type { TrainableBases } from "./trainable-bases.ts";
import type { TrainingSlots } from "./training-slots.ts";

/** Objects of the training sessions that are needed to start a model. */
export interface StartParts {
  readonly futures: Futures;
  readonly saved: SavedWeights;
  readonly bases: TrainableBases;
  readonly slots: TrainingSlots;
}

export class ModelStarts {
  readonly #dependencies: SessionDependencies;
  readonly #parts: StartParts;

  constructor(dependencies: SessionDependencies, parts: StartParts) {
    this.#dependencies = dependencies;
    this.#parts = parts;
  }

  /**
   * Starts to train a model. Returns the id of the future for its creation; a repeated request gets the same id again.
   */
  async create(session: Session, request: ModelRequest, caller: Caller): Promise<string> {
    const { futures, saved, bases, slots } = this.#parts;
    const { seqId, fingerprint, from } = request;
    const earlier = session.creations.get(seqId);
    if (earlier !== undefined) return repeated(earlier, fingerprint);
    futures.requireRoom(caller.entity);
    const source = from === null ? null : await saved.find(from.path, caller);
    const { baseName, adapter } = request.fresh ?? sourceShape(present(source, "weights to start from"));
    const baseModel = bases.require(baseName);
    const run = { sessionId: session.id, seqId };
    const start = await startWeights(this.#dependencies, request, source);
    const slot = slots.request(caller.entity);
    const requestSlot = firstly(slot, () => slots.request(caller.entity));
    const begun = this.#begin(session, { run, start, requestSlot, baseName, baseModel, adapter }, caller);
    begun.catch(() => slot.leave());
    const modelId = runIdOf(run);
    const result = begun.then((): SessionResult =>
      from === null ? { kind: "created", modelId } : { kind: "loaded", modelId, path: from.path },
    );
    const future = futures.add(caller.entity, "train", result, () => slot.reason());
    session.creations.set(seqId, { future, fingerprint });
    return future;
  }

  async #begin(
    session: Session,
    {
      run,
      start,
      requestSlot,
      baseName,
      ...shape
    }: Pick<LiveModelOptions, "run" | "start" | "requestSlot" | "baseName"> &
      Pick<TrainedModel, "baseModel" | "adapter">,
    caller: Caller,
  ): Promise<void> {
    const { startProcess, clock, settings } = this.#dependencies;
    const model = await this.#register(run, shape, caller);
    const live = new LiveModel({ run, model, baseName, start, requestSlot, startProcess, clock, settings });
    session.models.set(run.seqId, live);
    await live.ready;
  }

  #register(
    run: RunKey,
    { baseModel, adapter }: { readonly baseModel: string; readonly adapter: AdapterWish },
    caller: Caller,
  ): Promise<TrainedModel> {
    const { entity, project } = caller;
    const named = { entity, project: project ?? sessionProject, name: modelNameOf(run) };
    const registration = { ...named, baseModel, adapter, from: null, returnExisting: true };
    return this.#dependencies.models.register(registration, caller);
  }
}

/** Returns a function that returns `first` at its first call, and asks for another value at later calls. */
function firstly<Value>(first: Value, next: () => Value): () => Value {
  let isFirst = true;
  return () => {
    if (!isFirst) return next();
    isFirst = false;
    return first;
  };
}

function repeated(earlier: Creation, fingerprint: string): string {
  if (earlier.fingerprint === fingerprint) return earlier.future;
  throw new ServiceError({
    code: "conflict",
    message: "The session has created another model with this model_seq_id; give each model the next number.",
  });
}

function sourceShape({
  model,
  version,
}: SavedPlace): Pick<LiveModelOptions, "baseName"> & Pick<TrainedModel, "adapter"> {
  return { baseName: version.saved.baseName, adapter: model.adapter };
}
