// Slots for live training processes. If all slots are taken, further models wait in the order of their requests; a model
// without work then leaves its slot (`live-model`). One entity cannot take all slots, so that others need not wait for it.
import { ServiceError } from "../../base/domain/service-error.ts";
import type { SessionSettings } from "./settings.ts";

interface Waiting {
  readonly entity: string;
  readonly enter: () => void;
}

type Limits = Pick<SessionSettings, "modelsMax" | "waitingPerEntityMax">;

/** A slot, or a place in the queue for one. */
export interface Slot {
  /** Resolves when the slot is taken. */
  readonly taken: Promise<void>;
  /** Reason why the slot is not taken yet; null if it is. */
  reason(): string | null;
  /** Leaves the slot, or the queue. Idempotent. */
  leave(): void;
}

export class TrainingSlots {
  readonly #limits: Limits;
  readonly #taken = new Map<string, number>();
  #waiting: Waiting[] = [];

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /**
   * @throws ServiceError `unsupported` if this server has no slots, `overloaded` if too many models of the entity wait
   */
  request(entity: string): Slot {
    const { modelsMax, waitingPerEntityMax } = this.#limits;
    if (modelsMax === 0)
      throw new ServiceError({
        code: "unsupported",
        message:
          "This server trains no models for clients of the Tinker API, because sessions.modelsMax is 0.",
      });
    if (this.#waiting.filter((each) => each.entity === entity).length >= waitingPerEntityMax)
      throw new ServiceError({
        code: "overloaded",
        message: `${waitingPerEntityMax} models wait for a training process, the maximum; end some training clients.`,
        retryAfterSeconds: 10,
      });
    let state: "waiting" | "taken" | "left" = "waiting";
    let resolve: () => void = () => undefined;
    const taken = new Promise<void>((done) => (resolve = done));
    const waiting: Waiting = {
      entity,
      enter: () => {
        state = "taken";
        resolve();
      },
    };
    this.#waiting.push(waiting);
    this.#fill();
    return {
      taken,
      reason: () => (state === "waiting" ? this.#reasonFor(entity) : null),
      leave: () => {
        if (state === "left") return;
        if (state === "taken") this.#count(entity, -1);
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        state = "left";
        this.#fill();
      },
    };
  }

  /** True if a model waits for a slot. */
  get isAwaited(): boolean {
    return this.#waiting.length > 0;
  }

  /** True if a model that waits could train if this entity left one of its slots. */
  isAwaitedFrom(entity: string): boolean {
    return this.#waiting.some(
      (each) => each.entity === entity || (this.#taken.get(each.entity) ?? 0) < this.#entityMax,
    );
  }

  get #total(): number {
    return [...this.#taken.values()].reduce((sum, count) => sum + count, 0);
  }

  get #entityMax(): number {
    return Math.max(1, this.#limits.modelsMax - 1);
  }

  #fill(): void {
    for (const waiting of this.#waiting) {
      if (this.#total >= this.#limits.modelsMax) return;
      if ((this.#taken.get(waiting.entity) ?? 0) >= this.#entityMax) continue;
      this.#waiting = this.#waiting.filter((each) => each !== waiting);
      this.#count(waiting.entity, 1);
      waiting.enter();
    }
  }

  #count(entity: string, change: number): void {
    const count = (this.#taken.get(entity) ?? 0) + change;
    if (count === 0) this.#taken.delete(entity);
    else this.#taken.set(entity, count);
  }

  #reasonFor(entity: string): string {
    const own = this.#taken.get(entity) ?? 0;
    return own >= this.#entityMax
      ? `${own} of your models are training, the maximum for one entity. Unload one, or end its program.`
      : `${this.#total} models are training, the maximum of this server (sessions.modelsMax).`;
  }
}
