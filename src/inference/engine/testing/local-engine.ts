// The embedded engine in this process, with the same `Engine` interface that `ipc/` provides across processes.
import type {
  AdapterReference,
  ChoiceRequest,
  Engine,
  EngineCapabilities,
  EngineStatus,
  Generation,
  GenerationRequest,
} from "../../../base/domain/generation.ts";
import { Generations } from "../generations.ts";
import type { Submission } from "../loop/engine-loop.ts";
import { loopCapabilities } from "../loop-capabilities.ts";
import { LoopEngine, type LoopEngineOptions } from "../loop-engine.ts";
import type { TransferStore } from "../transfers/transfer-store.ts";

export class LocalEngine implements Engine {
  readonly capabilities: EngineCapabilities;
  readonly #engine: LoopEngine;
  readonly #generations: Generations;

  constructor(options: LoopEngineOptions) {
    this.#engine = new LoopEngine({
      ...options,
      onBreakdown: () => {
        this.#generations.failAll("The engine broke down while it computed this request.");
        options.onBreakdown?.();
      },
    });
    this.capabilities = loopCapabilities(options.settings);
    this.#generations = new Generations(this.capabilities, options.settings.waitingCountMax);
  }

  get transfers(): TransferStore | undefined {
    return this.#engine.transfers;
  }

  start(): Promise<void> {
    return this.#engine.start();
  }

  async stop(): Promise<void> {
    const stopped = this.#engine.stop();
    this.#generations.failAll("The engine is being stopped.");
    await stopped;
  }

  submit(request: GenerationRequest): Generation {
    let submission: Submission | null = null;
    const stream = this.#generations.open(
      request,
      { state: this.#engine.state, room: this.roomFor(request.choices) },
      {
        onStopChoice: (choice) => submission?.stopChoice(choice),
        onAbort: () => submission?.abort(),
      },
    );
    submission = this.#engine.submit(request, stream);
    return stream;
  }

  roomFor(choices: ChoiceRequest): number {
    return this.#engine.roomFor(choices);
  }

  prepareAdapter(reference: AdapterReference): Promise<void> {
    return this.#engine.prepareAdapter(reference);
  }

  dropAdapter(id: string): void {
    this.#engine.dropAdapter(id);
  }

  status(): EngineStatus {
    return this.#generations.status(this.#engine.state, () => this.#engine.gauges());
  }
}
