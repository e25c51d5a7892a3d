// Passes the prompt of a chat request between servers, as its KV cache. Refuses unsupported requests, makes the engine
// hold a prompt for another server, and fetches a prompt that another server holds.
import { chatFault, type ChatRequest } from "../../base/domain/chat.ts";
import type { GenerationRequest } from "../../base/domain/generation.ts";
import type {
  HeldPlace,
  PassedParameters,
  PromptOrigin,
  PromptPassing,
  PromptTransfers,
} from "../../base/domain/prompt-transfer.ts";
import { ServiceError, type Fault } from "../../base/domain/service-error.ts";
import type { ResolvedModel } from "../models/registry/model-directory.ts";
import type { PromptExchange } from "../kv-transfer/prompt-exchange.ts";
import { TransferFailure } from "../kv-transfer/transfer-failure.ts";
import type { GenerationPlan } from "./plan-generation.ts";
import type { ServedBase } from "./served-base.ts";

/** Returns a fault if this server does not support the request's `passing` field, else an empty list. */
export function findPassingFaults(
  { passing }: ChatRequest,
  { engine }: ServedBase,
  { exchange, entity }: { readonly exchange: PromptExchange | null; readonly entity: string },
): readonly Fault[] {
  if (passing === null) return [];
  const passesOn = engine.capabilities.passesPrompts === true;
  const message =
    exchange === null || (engine.transfers === undefined && !passesOn)
      ? "`passing` is not supported by this server; leave it out or at its default."
      : passesOn
        ? exchange.seals.refusalOf(passing.parameters, entity)
        : passing.from && exchange.refusalOf(passing.from);
  return message === null ? [] : [chatFault("passing", { message, type: "unsupported" })];
}

/** Results of passing a prompt between servers, with clean-up functions. */
export interface PassedPrompt {
  /** Additional options for the request to the engine. */
  readonly asked: Pick<GenerationRequest["prompt"], "hold" | "received" | "passed">;
  /** Notices for the client, one sentence each. */
  readonly notices: readonly string[];
  /**
   * Address from which another server can fetch the held prompt; null if the request does not ask to hold its prompt.
   * The address is valid only if the engine confirms that it holds the prompt.
   */
  readonly place: HeldPlace | null;
  /** Seals the parameters that vLLM servers behind the engine return; absent if there are no such servers. */
  readonly seal?: (answered: PassedParameters) => PassedParameters;
  /** Makes the engine drop the prompt that it received. */
  readonly forget: () => void;
  /** Makes the engine drop a held prompt that no server will fetch. */
  readonly releaseHeld: () => void;
}

export interface PassingContext {
  readonly model: ResolvedModel;
  readonly base: ServedBase;
  readonly exchange: PromptExchange;
  readonly transfers: PromptTransfers;
  readonly entity: string;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/**
 * Fetches the prompt if another server holds it, and prepares to hold the prompt if the request asks for that.
 *
 * @param passing field of the request, without faults (see {@link findPassingFaults})
 * @throws ServiceError `unavailable` for a prompt that cannot be fetched, if the operator has forbidden to compute it
 * here instead; the signal's reason
 */
export async function passPrompt(
  { isHeld, from }: PromptPassing,
  { generation }: GenerationPlan,
  context: PassingContext,
): Promise<PassedPrompt> {
  const { exchange, transfers } = context;
  const origin = originOf(context);
  const notices: string[] = [];
  const hold = isHeld && origin !== null ? exchange.createHold(origin) : undefined;
  if (isHeld && origin === null) notices.push(cannotBeTold);
  const received = from === null ? undefined : await fetched(from, { generation, origin, notices }, context);
  const drop = (id: string | undefined): void =>
    void (id === undefined ? undefined : transfers.drop(id).catch(() => undefined));
  return {
    asked: { ...(hold && { hold }), ...(received !== undefined && { received }) },
    notices,
    place: hold === undefined ? null : exchange.placeOf(hold),
    forget: () => drop(received),
    releaseHeld: () => drop(hold?.handle),
  };
}

/**
 * Forwards passing parameters to the vLLM servers behind an engine.
 *
 * @param passing field of the request, without faults (see {@link findPassingFaults})
 * @throws ServiceError `unsupported` if another request has used these parameters in the meantime
 */
export function forwardParameters(
  { parameters }: PromptPassing,
  { exchange, entity }: Pick<PassingContext, "exchange" | "entity">,
): PassedPrompt {
  const nothing = (): void => undefined;
  return {
    asked: { passed: exchange.seals.open(parameters, entity) },
    notices: [],
    place: null,
    seal: (answered) => exchange.seals.seal(answered, entity),
    forget: nothing,
    releaseHeld: nothing,
  };
}

const cannotBeTold =
  "The prompt is not held for another server: the weights that computed it are not known for certain.";

/**
 * Fetches the prompt from another server. Returns the id under which the engine has it; undefined if the prompt must be
 * computed on this server.
 */
async function fetched(
  from: Omit<HeldPlace, "engineId">,
  {
    generation,
    origin,
    notices,
  }: {
    readonly generation: GenerationRequest;
    readonly origin: PromptOrigin | null;
    readonly notices: string[];
  },
  { exchange, transfers, entity, requestId, signal }: PassingContext,
): Promise<string | undefined> {
  const { tokenIds } = generation.prompt;
  if (generation.outputs.promptLogprobCount !== null) {
    notices.push("The prompt was computed here, for its log-probabilities.");
    return undefined;
  }
  try {
    if (origin === null)
      throw new TransferFailure("different", "this server's weights are not known for certain");
    const wanted = { origin, tokenIds, entity };
    const { id, tokenCount } = await exchange.receive(from, wanted, transfers, { signal, requestId });
    if (tokenCount < tokenIds.length)
      notices.push(`The fetched prompt covers the first ${tokenCount} tokens; the rest was computed here.`);
    return id;
  } catch (error) {
    if (!(error instanceof TransferFailure)) throw error;
    const reason = `The prompt could not be fetched from the server that should hold it: ${error.message}.`;
    if (exchange.onFailure === "recompute") {
      notices.push(`${reason} It was computed here.`);
      return undefined;
    }
    const fault = chatFault("passing", { message: reason, type: "unavailable" });
    throw new ServiceError({ code: "unavailable", faults: [fault], cause: error });
  }
}

/**
 * Returns the properties that determine the keys and values of a prompt on this server, such as the model's weights.
 * Returns null if it is not certain which weights the engine uses.
 */
function originOf({ model, base, exchange }: PassingContext): PromptOrigin | null {
  const { state } = base.engine.status();
  const weights = state.kind === "ready" ? state.weights : undefined;
  const adapter = model.adapter === null ? null : model.adapter.hash;
  if (weights === undefined || adapter === undefined) return null;
  return { weights, precision: base.precision ?? "float32", build: exchange.build, adapter };
}
