// The field `kv_transfer_params`, as in vLLM. In a request, it asks the server to hold a prompt's KV cache or to fetch
// it from another server. In an answer, it refers to a held KV cache.
import { Type, type Static } from "typebox";
import type { ChatHeader } from "../../../base/domain/chat.ts";
import type { PromptPassing } from "../../../base/domain/prompt-transfer.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { named } from "../fields/any-object.ts";
import { nullable } from "../nullable.ts";

export const passingSchema = Type.Object(
  {
    do_remote_decode: nullable(Type.Boolean(), {
      default: false,
      description:
        "True to keep the prompt's KV cache for another server. Send the answer's `kv_transfer_params` to that server.",
    }),
    do_remote_prefill: nullable(Type.Boolean(), {
      default: false,
      description: "True to fetch the prompt's KV cache from the server at `remote_host` and `remote_port`.",
    }),
    remote_host: nullable(Type.String({ minLength: 1, maxLength: 253 }), {
      description: "Host of the server to fetch from, which the operator must allow (`transfer.peers`).",
    }),
    remote_port: nullable(Type.Integer({ minimum: 1, maximum: 65_535 }), {
      description: "Port of the server to fetch from.",
    }),
    remote_request_id: nullable(Type.String({ minLength: 1, maxLength: 256 }), {
      description:
        "Id of the kept KV cache, from the `kv_transfer_params` of the answer of the server that keeps it.",
    }),
  },
  { ...named, title: "KvTransferParams" },
);

type PassingParams = Static<typeof passingSchema>;

/** Returns the transfer that the request asks for: to hold its prompt for another server, or to fetch it; else null. */
export function readPassing(params: PassingParams | null | undefined): PromptPassing | null {
  const { do_remote_decode: isHeld, do_remote_prefill: isFetched } = params ?? {};
  if (isHeld !== true && isFetched !== true) return null;
  const { remote_host: host, remote_port: port, remote_request_id: handle } = params ?? {};
  return {
    isHeld: isHeld === true,
    // These fields are present, because `checkPassing` has refused requests without them.
    from: isFetched === true ? { host: host ?? "", port: port ?? 0, handle: handle ?? "" } : null,
    parameters: params ?? {},
  };
}

/** True if the value asks neither to hold nor to fetch a prompt. */
export function passesNothing(value: unknown): boolean {
  return !isObject(value) || (value["do_remote_decode"] !== true && value["do_remote_prefill"] !== true);
}

const place = ["remote_host", "remote_port", "remote_request_id"] as const;

/**
 * Adds faults for parameters that contradict each other. The body is not checked yet, so any member may have any type.
 */
export function checkPassing(body: Readonly<Record<string, unknown>>, findings: Findings): void {
  const params = body["kv_transfer_params"];
  if (!isObject(params) || passesNothing(params)) return;
  const fault = (message: string, member: string): void =>
    report(findings, "value_error", `Value error, ${message}`, "kv_transfer_params", member);
  if (params["do_remote_prefill"] === true) {
    for (const member of place) {
      if ((params[member] ?? null) !== null) continue;
      fault("do_remote_prefill needs all fields that the server that computed the prompt returned.", member);
    }
  }
  if (params["do_remote_decode"] === true && body["stream"] === true)
    fault("a stream does not say where the prompt is held; send stream: false with it.", "do_remote_decode");
  const { prompt } = body;
  if (Array.isArray(prompt) && prompt.length > 1 && typeof prompt[0] !== "number")
    fault("one prompt passes with a request; send one request for each prompt.", "do_remote_decode");
}

/** Returns the parameters that refer to the held prompt. The client passes them on in its request to another server. */
export function passingParams(heldAt: ChatHeader["heldAt"]): object | null {
  if (heldAt === null) return null;
  if ("parameters" in heldAt) return heldAt.parameters;
  return {
    do_remote_prefill: true,
    do_remote_decode: false,
    // Empty, because the request's id identifies all blocks. The blocks themselves are internal to this server.
    remote_block_ids: [],
    remote_engine_id: heldAt.engineId,
    remote_request_id: heldAt.handle,
    remote_host: heldAt.host,
    remote_port: heldAt.port,
    tp_size: 1,
    remote_num_tokens: heldAt.tokenCount,
  };
}
