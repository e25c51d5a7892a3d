// Makes stub servers die, hang, fail and drain, one after another, and recover. The times depend on the number of
// requests begun, not on the clock.
import type { Random } from "../../../base/domain/random.ts";
import type { StubFault, StubVllm } from "./stub-vllm.ts";

const completions = "/v1/completions";

interface Illness {
  readonly fault: StubFault;
  /** True if a new process replaces the server's process, so that its cache, adapters and running requests are lost. */
  readonly isDeath: boolean;
}

const illnesses: readonly Illness[] = [
  // The server dies: it responds to nothing until it is restarted.
  {
    fault: (_path, request) => {
      request.socket.destroy();
      return true;
    },
    isDeath: true,
  },
  // The server hangs but reports good health, until it is killed and restarted.
  { fault: (path) => path === completions, isDeath: true },
  // The server fails requests but reports good health.
  {
    fault: (path, _request, response) => {
      if (path === completions) response.writeHead(500).end("{}");
      return path === completions;
    },
    isDeath: false,
  },
  // The server drains: it reports bad health but still answers requests.
  {
    fault: (path, _request, response) => {
      if (path === "/health") response.writeHead(503).end();
      return path === "/health";
    },
    isDeath: false,
  },
];

export interface IllnessPlan {
  readonly stubs: readonly StubVllm[];
  readonly requestCount: number;
  /** Number of illnesses during the whole run. */
  readonly illnessCount: number;
  readonly random: Random;
  readonly onDeath: (server: number) => void;
}

/** Makes one server ill at a time. It recovers after half of the requests until the next illness. */
export class FleetIllness {
  readonly #plan: IllnessPlan;
  #ill: { readonly server: number; readonly illness: Illness } | null = null;

  constructor(plan: IllnessPlan) {
    this.#plan = plan;
  }

  /** Returns the indices of the healthy servers. */
  wellServers(): readonly number[] {
    return this.#plan.stubs.flatMap((_stub, server) => (server === this.#ill?.server ? [] : [server]));
  }

  /**
   * Begins or ends an illness if it is time. Must be called before each request, with the number of requests begun so
   * far.
   */
  before(begunCount: number): void {
    const { stubs, requestCount, illnessCount, random } = this.#plan;
    const every = Math.floor(requestCount / (illnessCount + 1));
    if (illnessCount === 0 || begunCount < every) return;
    if (begunCount % every === 0) {
      const illness = illnesses[(begunCount / every - 1) % illnesses.length];
      this.#ill = { server: random.index(stubs.length), illness };
      stubs[this.#ill.server].fault = illness.fault;
      // Running answers of a dying or hanging server break off.
      if (illness.isDeath) stubs[this.#ill.server].breakOff();
    } else if (begunCount % every === Math.floor(every / 2)) this.end();
  }

  /** Makes the ill server healthy again. */
  end(): void {
    const { stubs, onDeath } = this.#plan;
    if (this.#ill === null) return;
    const { server, illness } = this.#ill;
    this.#ill = null;
    stubs[server].fault = () => false;
    if (!illness.isDeath) return;
    stubs[server].breakOff();
    stubs[server].forget();
    onDeath(server);
  }
}
