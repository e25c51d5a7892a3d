// Adds endpoints with the documentation section and credentials of the Tinker API, and names their operations.
import { createHash } from "node:crypto";
import type { FastifyInstance, RouteShorthandOptions } from "fastify";
import type { Caller } from "../../../base/domain/access.ts";
import type { Session } from "../../../train/sessions/open-sessions.ts";
import type { LiveModel } from "../../../train/sessions/live-model.ts";
import { locate } from "../../wire/field-paths.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endpoints } from "../endpoints/endpoint.ts";

export function tinkerEndpoints(app: FastifyInstance, options: RouteShorthandOptions = {}) {
  return endpoints(app, { tag: "tinker", scheme: "bearer", options });
}

/** Returns a hash of a body, by which the server recognizes a repeated request. */
export function fingerprintOf(body: object | Uint8Array): string {
  const bytes = body instanceof Uint8Array ? body : JSON.stringify(body);
  return createHash("sha256").update(bytes).digest("base64");
}

/**
 * Options for routes of operations: if the server refuses a request, later operations of the model do not wait for it.
 * A client numbers each request, also one that is refused.
 */
export function passesOverRefused({ sessions }: HttpDependencies): RouteShorthandOptions {
  return {
    onResponse: async ({ body, caller }, { statusCode }) => {
      const isRefused = statusCode >= 400 && statusCode < 500 && statusCode !== 429;
      // Safe cast: only the two members are read, and their types are checked. A refused body can be anything.
      const { model_id: id, seq_id: seqId } = Object(body) as Readonly<Record<string, unknown>>;
      if (!isRefused || typeof id !== "string" || typeof seqId !== "number") return;
      try {
        sessions.live(id, caller).passOver(seqId);
      } catch {
        // The caller trains no such model, so nothing waits.
      }
    },
  };
}

/** @throws ServiceError `not_found` at the field `session_id` */
export function findSession({ sessions }: HttpDependencies, id: string, caller: Caller): Session {
  return atField("session_id", () => sessions.sessions.find(id, caller));
}

/** @throws ServiceError `not_found` at the field `model_id` */
export function findLive({ sessions }: HttpDependencies, id: string, caller: Caller): LiveModel {
  return atField("model_id", () => sessions.live(id, caller));
}

function atField<Found>(field: string, find: () => Found): Found {
  try {
    return find();
  } catch (error) {
    throw locate(error, { not_found: ["body", field] });
  }
}
