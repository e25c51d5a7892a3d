// Seals the parameters that vLLM servers exchange about a held prompt. These parameters pass through clients and name
// memory of the holding server. By changing them, a client could read other clients' prompts, or direct servers to
// unknown addresses.
// * A seal (HMAC, RFC 2104) binds the parameters to an entity.
// * A seal is valid once, for a limited time, and only on the server that made it, because the memory is reused.
// * Unsealed parameters may only ask a server to hold a prompt.
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../base/domain/clock.ts";
import { newUuid } from "../../base/domain/random.ts";
import type { PassedParameters } from "../../base/domain/prompt-transfer.ts";
import { quoted, ServiceError } from "../../base/domain/service-error.ts";

/** The member that holds the seal, besides the parameters. */
export const sealMember = "hone_seal";

export interface ParameterSealsOptions {
  readonly secret: string;
  /** Number of seconds that a seal is valid. */
  readonly seconds: number;
  readonly clock: Pick<Clock, "now">;
}

export class ParameterSeals {
  readonly #options: ParameterSealsOptions;
  /**
   * Identifies this instance. Seals of other instances are invalid here, because an instance records only the seals
   * that it has opened itself.
   */
  readonly #name = newUuid();
  /** Opened seals, with their expiry in seconds since 1970. */
  readonly #opened = new Map<string, number>();

  constructor(options: ParameterSealsOptions) {
    this.#options = options;
  }

  /** Returns the parameters with a seal for the entity. */
  seal(parameters: PassedParameters, entity: string): PassedParameters {
    const until = Math.ceil(this.#nowSeconds()) + this.#options.seconds;
    return { ...parameters, [sealMember]: `${until}.${this.#code(parameters, entity, until)}` };
  }

  /** Returns null if an entity's parameters can be forwarded; otherwise the reason why not, as a sentence. */
  refusalOf(sent: PassedParameters, entity: string): string | null {
    const { [sealMember]: seal, ...parameters } = sent;
    if (seal === undefined) return refusalOfUnsealed(parameters);
    const until = this.#goodUntil(seal, parameters, entity);
    if (until === null)
      return "The object is not one that this server gave this entity since its start; send it unchanged.";
    if (until < this.#nowSeconds() || (typeof seal === "string" && this.#opened.has(seal)))
      return "The object was already used, or has expired: the prompt is no longer held. Send the request without it.";
    return null;
  }

  /**
   * Returns the parameters without the seal, to be forwarded. A seal can be opened only once.
   *
   * @throws ServiceError `unsupported` for parameters that {@link refusalOf} refuses
   */
  open(sent: PassedParameters, entity: string): PassedParameters {
    const message = this.refusalOf(sent, entity);
    if (message !== null) throw new ServiceError({ code: "unsupported", message });
    const { [sealMember]: seal, ...parameters } = sent;
    if (typeof seal === "string") this.#remember(seal);
    return parameters;
  }

  #remember(seal: string): void {
    const now = this.#nowSeconds();
    // Seals are listed in the order of opening, so an expired one may follow one that is still valid. A later call then
    // removes it.
    for (const [other, until] of this.#opened) {
      if (until >= now) break;
      this.#opened.delete(other);
    }
    this.#opened.set(seal, untilOf(seal));
  }

  #goodUntil(seal: unknown, parameters: PassedParameters, entity: string): number | null {
    if (typeof seal !== "string" || !/^\d{1,12}\.[0-9a-f]{64}$/.test(seal)) return null;
    const until = untilOf(seal);
    const expected = Buffer.from(`${until}.${this.#code(parameters, entity, until)}`);
    const given = Buffer.from(seal);
    return given.length === expected.length && timingSafeEqual(given, expected) ? until : null;
  }

  #code(parameters: PassedParameters, entity: string, until: number): string {
    return createHmac("sha256", this.#options.secret)
      .update(JSON.stringify(["passed", this.#name, entity, until, canonical(parameters)]))
      .digest("hex");
  }

  #nowSeconds(): number {
    return this.#options.clock.now().getTime() / 1000;
  }
}

function untilOf(seal: string): number {
  return Number(seal.slice(0, seal.indexOf(".")));
}

/**
 * Returns why parameters without a seal are refused. They may only ask to hold a prompt, because vLLM servers trust all
 * other parameters.
 */
function refusalOfUnsealed(parameters: PassedParameters): string | null {
  if (parameters["do_remote_prefill"] === true)
    return "do_remote_prefill is accepted only in an object that this server answered; send that object unchanged.";
  const other = Object.entries(parameters).find(
    ([name, value]) => name !== "do_remote_decode" && name !== "do_remote_prefill" && !isNothing(value),
  );
  if (other === undefined) return null;
  return `${quoted(other[0])} cannot be passed on next to do_remote_decode; leave it out.`;
}

function isNothing(value: unknown): boolean {
  return value === null || value === false || (Array.isArray(value) && value.length === 0);
}

/** Returns a canonical form, which does not depend on the order of members, because clients may reorder them. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (value === null || typeof value !== "object") return value;
  return Object.entries(value)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => [name, canonical(member)]);
}
