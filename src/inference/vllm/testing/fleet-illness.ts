// Servers that die, hang, fail and drain, one after the other, and are well again. When they do goes by how many requests have
// begun, not by time.
import type { Random } from "../../../base/domain/random.ts";
import type { StubFault, StubVllm } from "./stub-vllm.ts";

const completions = "/v1/completions";

interface Illness {
  readonly fault: StubFault;
  /** Whether its process is another one afterwards: whatever it had computed, loaded and begun is gone. */
  readonly isDeath: boolean;
}

const illnesses: readonly Illness[] = [
  // Dies: nothing of it answers, until it was started again.
  {
    fault: (_path, request) => {
      request.socket.destroy();
      return true;
    },
    isDeath: true,
  },
  // Hangs, and says that it is well, until somebody ends it and starts it again.
  { fault: (path) => path === completions, isDeath: true },
  // Fails, and says that it is well.
  {
    fault: (path, _request, response) => {
      if (path === completions) response.writeHead(500).end("{}");
      return path === completions;
    },
    isDeath: false,
  },
  // Drains: what it is asked it answers still.
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
  /** How often a server falls ill, over the whole. */
  readonly illnessCount: number;
  readonly random: Random;
  readonly onDeath: (server: number) => void;
}

/** A server that falls ill is well again after half of the requests until the next one does. */
export class FleetIllness {
  readonly #plan: IllnessPlan;
  #ill: { readonly server: number; readonly illness: Illness } | null = null;

  constructor(plan: IllnessPlan) {
    this.#plan = plan;
  }

  /** By their numbers. */
  wellServers(): readonly number[] {
    return this.#plan.stubs.flatMap((_stub, server) => (server === this.#ill?.server ? [] : [server]));
  }

  /** To be told before each request how many have begun. */
  before(begunCount: number): void {
    const { stubs, requestCount, illnessCount, random } = this.#plan;
    const every = Math.floor(requestCount / (illnessCount + 1));
    if (illnessCount === 0 || begunCount < every) return;
    if (begunCount % every === 0) {
      const illness = illnesses[(begunCount / every - 1) % illnesses.length];
      this.#ill = { server: random.index(stubs.length), illness };
      stubs[this.#ill.server].fault = illness.fault;
      // What it answered breaks off where it dies; where it hangs, it does so too.
      if (illness.isDeath) stubs[this.#ill.server].breakOff();
    } else if (begunCount % every === Math.floor(every / 2)) this.end();
  }

  /** All are well. */
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
