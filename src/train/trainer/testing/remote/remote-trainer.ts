// A trainer that computes nothing itself. Like the client of a training service, it sends a message for each call and
// polls a future. It shows that the trainer contract can be implemented remotely, and how jobs handle a trainer that
// accepts no adapters, cannot compute the base model and is not repeatable.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import type { TrainerProfile } from "../../../../base/domain/trainer/profile.ts";
import { SerialCalls, throwIfAborted } from "../../serial-calls.ts";
import type {
  ForwardBackwardResult,
  ForwardOptions,
  ForwardResult,
  Loss,
  OptimizerStep,
  OptimizerStepResult,
  Trainer,
  TrainerCall,
  TrainerProvider,
  TrainerStart,
  TrainingSequence,
} from "../../trainer.ts";
import type { RemoteOperation, RemoteRequest, RemoteServer } from "./remote-server.ts";

const losses: TrainerProfile["losses"] = ["policy", "cross-entropy"];

export class RemoteTrainers implements TrainerProvider {
  readonly profile: TrainerProfile = {
    name: "remote",
    losses,
    hasBasePass: false,
    isRepeatable: false,
    basePrecisions: ["float32"],
    takesAdapters: false,
  };
  readonly sequenceLengthMax: number;
  readonly #service: RemoteService;

  constructor(server: RemoteServer, { sequenceLengthMax }: Pick<TrainerProvider, "sequenceLengthMax">) {
    this.sequenceLengthMax = sequenceLengthMax;
    this.#service = new RemoteService(server);
  }

  async open(start: TrainerStart, { id: run, signal }: TrainerCall): Promise<Trainer> {
    throwIfAborted(signal);
    if (start.kind === "adapter") throw unsupported("This trainer takes no adapters.");
    const model = await this.#service.ask<string>(
      start.kind === "new"
        ? { kind: "create_model", run, seed: start.seed }
        : { kind: "load_model", run, state: start.state, optimizer: start.keepsOptimizer },
    );
    return new RemoteTrainer(this.#service, model);
  }

  async discard(state: string): Promise<void> {
    await this.#service.ask({ kind: "delete_state", state });
  }
}

/**
 * Sends messages to a server and receives answers. Copies each message, so that client and server share no objects. An
 * answer takes at least one turn of the event loop.
 */
class RemoteService {
  readonly #server: RemoteServer;

  constructor(server: RemoteServer) {
    this.#server = server;
  }

  /**
   * Sends a request and waits for its result.
   *
   * @throws ServiceError the server's error if the future failed
   */
  async ask<Result>(request: RemoteRequest): Promise<Result> {
    await setImmediate();
    const name = this.#server.post(structuredClone(request));
    for (;;) {
      await setImmediate();
      const future = structuredClone(this.#server.retrieve(name));
      if (future.kind === "failed") throw new ServiceError(future);
      if (future.kind === "done") return future.result as Result; // Safe cast: the server returned the result of this operation.
    }
  }
}

class RemoteTrainer implements Trainer {
  readonly #service: RemoteService;
  readonly #model: string;
  readonly #calls = new SerialCalls();
  #sequence = 0;

  constructor(service: RemoteService, model: string) {
    this.#service = service;
    this.#model = model;
  }

  forward(
    data: readonly TrainingSequence[],
    call: TrainerCall,
    { hasAdapter = true }: ForwardOptions = {},
  ): Promise<ForwardResult> {
    if (!hasAdapter) return Promise.reject(unsupported("This trainer has no base pass."));
    return this.#calls.run("forward", call, () => this.#operate({ kind: "forward", data }));
  }

  forwardBackward(
    data: readonly TrainingSequence[],
    loss: Loss,
    call: TrainerCall,
  ): Promise<ForwardBackwardResult> {
    if (!losses.includes(loss.kind))
      return Promise.reject(unsupported(`This trainer computes no loss ${loss.kind}.`));
    return this.#calls.run("forwardBackward", call, () =>
      this.#operate({ kind: "forward_backward", data, loss }),
    );
  }

  optimStep(step: OptimizerStep, call: TrainerCall): Promise<OptimizerStepResult> {
    return this.#calls.run("optimStep", call, () => this.#operate({ kind: "optim_step", step }));
  }

  saveState(name: string, call: TrainerCall): Promise<string> {
    return this.#calls.run("saveState", call, () => {
      // The suffix makes the name new, because a service accepts each name only once.
      const plain = `${name.replaceAll(/[^\w-]/g, "_")}-${this.#sequence}`;
      return this.#operate({ kind: "save_state", name: plain });
    });
  }

  exportAdapter(folder: string, call: TrainerCall): Promise<void> {
    return this.#calls.run("exportAdapter", call, async () => {
      const files = await this.#operate<ReadonlyMap<string, Uint8Array>>({ kind: "export_adapter" });
      for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
    });
  }

  async close(): Promise<void> {
    await this.#calls.close();
    await this.#service.ask({ kind: "unload_model", model: this.#model });
  }

  /**
   * Runs an operation on the model. Once the operation is sent, an abort does not end the wait, because the operation
   * takes effect anyway.
   */
  #operate<Result>(operation: RemoteOperation): Promise<Result> {
    this.#sequence += 1;
    return this.#service.ask({ kind: "operate", model: this.#model, sequence: this.#sequence, operation });
  }
}

function unsupported(message: string): ServiceError {
  return new ServiceError({ code: "unsupported", message });
}
