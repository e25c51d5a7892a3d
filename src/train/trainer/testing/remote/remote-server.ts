// Server side of a remote trainer, similar to a training service. Answers each message immediately with the name of a
// future, and lets another trainer compute later. Saves states under names of its own, accepts no adapters, and cannot
// compute the base model.
import { mkdtempSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { unreachable } from "../../../../base/domain/assert.ts";
import { ServiceError, notFound, type ErrorCode } from "../../../../base/domain/service-error.ts";
import type { Loss, OptimizerStep, Trainer, TrainerProvider, TrainingSequence } from "../../trainer.ts";

/** An operation on a model that is being trained. */
export type RemoteOperation =
  | { readonly kind: "forward"; readonly data: readonly TrainingSequence[] }
  | { readonly kind: "forward_backward"; readonly data: readonly TrainingSequence[]; readonly loss: Loss }
  | { readonly kind: "optim_step"; readonly step: OptimizerStep }
  /**
   * The name is unique per model. It has only characters that training services allow: letters, digits, `_` and `-`.
   */
  | { readonly kind: "save_state"; readonly name: string }
  | { readonly kind: "export_adapter" };

export type RemoteRequest =
  | { readonly kind: "create_model"; readonly run: string; readonly seed: string }
  | { readonly kind: "load_model"; readonly run: string; readonly state: string; readonly optimizer: boolean }
  /**
   * An operation on a model. Each operation on the model has the next sequence number. If a number is repeated, the
   * operation takes effect only once.
   */
  | {
      readonly kind: "operate";
      readonly model: string;
      readonly sequence: number;
      readonly operation: RemoteOperation;
    }
  | { readonly kind: "unload_model"; readonly model: string }
  | { readonly kind: "delete_state"; readonly state: string };

/** Current state of a future, which a client polls for the result of its message. */
export type RemoteFuture =
  | { readonly kind: "pending" }
  | { readonly kind: "done"; readonly result: unknown }
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string };

interface RemoteModel {
  readonly trainer: Trainer;
  /** For each operation, by its sequence number, the name of its future. */
  readonly futures: Map<number, string>;
}

export class RemoteServer {
  readonly #trainers: TrainerProvider;
  /** Folder for the files of the trainers that compute. Clients do not see it. */
  readonly #folder: string;
  readonly #models = new Map<string, RemoteModel>();
  /** Id of each run's open model, by the run's name. */
  readonly #runs = new Map<string, string>();
  /** For each state, by the name that clients know, its key in the computing trainer. */
  readonly #states = new Map<string, string>();
  readonly #futures = new Map<string, RemoteFuture>();
  #count = 0;

  constructor(trainers: TrainerProvider, folder: string) {
    this.#trainers = trainers;
    this.#folder = folder;
  }

  /** Accepts a message. Returns the name of the future that will have the result. */
  post(request: RemoteRequest): string {
    if (request.kind !== "operate") return this.#future(() => this.#manage(request));
    const { model, sequence, operation } = request;
    const known = this.#models.get(model);
    const earlier = known?.futures.get(sequence);
    if (earlier !== undefined) return earlier;
    const future = this.#future(async () => {
      if (known === undefined) throw notFound("model", model);
      return await this.#operate(model, known.trainer, operation);
    });
    known?.futures.set(sequence, future);
    return future;
  }

  retrieve(future: string): RemoteFuture {
    return (
      this.#futures.get(future) ?? { kind: "failed", code: "not_found", message: "There is no such future." }
    );
  }

  #future(compute: () => Promise<unknown>): string {
    const future = this.#name("future");
    this.#futures.set(future, { kind: "pending" });
    compute().then(
      (result) => this.#futures.set(future, { kind: "done", result }),
      (error: unknown) => {
        const code = error instanceof ServiceError ? error.code : "internal";
        this.#futures.set(future, { kind: "failed", code, message: String(error) });
      },
    );
    return future;
  }

  async #manage(request: Exclude<RemoteRequest, { kind: "operate" }>): Promise<unknown> {
    switch (request.kind) {
      case "create_model":
      case "load_model":
        return await this.#open(request);
      case "unload_model":
        return this.#models.delete(request.model);
      case "delete_state":
        return this.#states.delete(request.state);
      default:
        return unreachable(request);
    }
  }

  async #open(request: RemoteRequest & { kind: "create_model" | "load_model" }): Promise<string> {
    const { run } = request;
    const earlier = this.#runs.get(run);
    if (earlier !== undefined) this.#models.delete(earlier);
    const trainer = await this.#trainers.open(
      request.kind === "create_model"
        ? { kind: "new", seed: request.seed }
        : { kind: "state", state: this.#stateOf(request.state), keepsOptimizer: request.optimizer },
      this.#call(),
    );
    const model = this.#name("model");
    this.#models.set(model, { trainer, futures: new Map() });
    this.#runs.set(run, model);
    return model;
  }

  async #operate(model: string, trainer: Trainer, operation: RemoteOperation): Promise<unknown> {
    const call = this.#call();
    switch (operation.kind) {
      case "forward":
        return await trainer.forward(operation.data, call);
      case "forward_backward":
        return await trainer.forwardBackward(operation.data, operation.loss, call);
      case "optim_step":
        return await trainer.optimStep(operation.step, call);
      case "save_state":
        return await this.#save(`remote://${model}/${operation.name}`, trainer);
      case "export_adapter": {
        const folder = mkdtempSync(join(this.#folder, "export-"));
        await trainer.exportAdapter(folder, call);
        return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
      }
      default:
        return unreachable(operation);
    }
  }

  async #save(state: string, trainer: Trainer): Promise<string> {
    if (!/\/[\w-]+$/.test(state))
      throw new ServiceError({ code: "invalid", message: `${state} is no name.` });
    if (this.#states.has(state))
      throw new ServiceError({ code: "conflict", message: `There is a ${state}.` });
    this.#states.set(state, await trainer.saveState(this.#name("state"), this.#call()));
    return state;
  }

  #stateOf(state: string): string {
    const kept = this.#states.get(state);
    if (kept === undefined) throw notFound("state", state);
    return kept;
  }

  #call(): { readonly id: string; readonly signal: AbortSignal } {
    return { id: this.#name("call"), signal: new AbortController().signal };
  }

  #name(kind: string): string {
    return `${kind}-${(this.#count += 1)}`;
  }
}
