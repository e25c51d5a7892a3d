// Servers that die, hang, fail and drain, one after the other, and recover. Timed by the number of requests begun, not
// by the clock.
import type { Random } from "../../../base/domain/random.ts";
import type { StubFault, StubVllm } from "./stub-vllm.ts";

const completions = "/v1/completions";

interface Illness {
  readonly fault: StubFault;
  /** True if its process is a new one afterwards, without its cache, adapters and running requests. */
  readonly isDeath: boolean;
}

const illnesses: readonly Illness[] = [
  // Dies: answers nothing until it is restarted.
  {
    fault: (_path, request) => {
      request.socket.destroy();
      return true;
    },
    isDeath: true,
  },
  // Hangs but reports good health, until it is killed and restarted.
  { fault: (path) => path === completions, isDeath: true },
  // Fails but reports good health.
  {
    fault: (path, _request, response) => {
      if (path === completions) response.writeHead(500).end("{}");
      return path === completions;
    },
    isDeath: false,
  },
  // Drains: still answers requests.
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

/** A server that falls ill recovers after half of the requests until the next illness. */
export class FleetIllness {
  readonly #plan: IllnessPlan;
  #ill: { readonly server: number; readonly illness: Illness } | null = null;

  constructor(plan: IllnessPlan) {
    this.#plan = plan;
  }

  /** Numbers of the healthy servers. */
  wellServers(): readonly number[] {
    return this.#plan.stubs.flatMap((_stub, server) => (server === this.#ill?.server ? [] : [server]));
  }

  /** Call before each request, with the number begun so far. */
  before(begunCount: number): void {
    const { stubs, requestCount, illnessCount, random } = this.#plan;
    const every = Math.floor(requestCount / (illnessCount + 1));
    if (illnessCount === 0 || begunCount < every) return;
    if (begunCount % every === 0) {
      const illness = illnesses[(begunCount / every - 1) % illnesses.length];
      this.#ill = { server: random.index(stubs.length), illness };
      stubs[this.#ill.server].fault = illness.fault;
      // Its answers break off when it dies, and when a hanging server is killed.
      if (illness.isDeath) stubs[this.#ill.server].breakOff();
    } else if (begunCount % every === Math.floor(every / 2)) this.end();
  }

  /** Heals all servers. */
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
