// For contract tests: a remote engine together with its stub of vLLM, which are started and stopped as one.
import type {
  AdapterReference,
  ChoiceRequest,
  Engine,
  EngineStatus,
  Generation,
  GenerationRequest,
} from "../../../base/domain/generation.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { serviceOf } from "../../../base/domain/lifecycle.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { RemoteEngine, type RemoteEngineOptions } from "../remote-engine.ts";
import { remoteSettings, type RemoteSettings } from "../settings.ts";

type Given = Omit<RemoteEngineOptions, "settings" | "clock" | "logger"> & {
  readonly settings?: Partial<RemoteSettings>;
};

/** Creates a remote engine with these settings, and with short waits by default. */
export function remoteEngine({ settings, ...options }: Given): RemoteEngine {
  const shortWaits = { startSeconds: 5, lookSeconds: 0.1 };
  return new RemoteEngine({
    ...options,
    settings: remoteSettings.with({ ...shortWaits, ...settings }),
    clock: systemClock,
    logger: silentLogger,
  });
}

/** Functions of a server that a test needs. */
interface StartedServer {
  start(): Promise<string>;
  stop(): Promise<void>;
}

/** A remote engine and its servers. The engine is created once the servers have URLs. */
export class StubbedEngine implements Engine {
  readonly #make: (urls: readonly string[]) => RemoteEngine;
  readonly #servers: readonly StartedServer[];
  readonly capabilities: Engine["capabilities"];
  /** The present engine. Before the start, it is an engine for a server that does not exist. */
  #engine: RemoteEngine;
  readonly #life = serviceOf("stubbed engine", {
    start: async (signal) => {
      const urls = await Promise.all(this.#servers.map((server) => server.start()));
      if (signal.aborted) return;
      this.#engine = this.#make(urls);
      signal.addEventListener("abort", () => void this.#engine.stop(), { once: true });
      await this.#engine.start();
    },
    stop: async () => {
      await this.#engine.stop();
      await Promise.all(this.#servers.map((server) => server.stop()));
    },
  });

  constructor(make: (urls: readonly string[]) => RemoteEngine, servers: readonly StartedServer[]) {
    this.#make = make;
    this.#servers = servers;
    this.#engine = make(["http://127.0.0.1:9"]);
    this.capabilities = this.#engine.capabilities;
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  submit(request: GenerationRequest): Generation {
    return this.#engine.submit(request);
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
    return this.#engine.status();
  }
}
