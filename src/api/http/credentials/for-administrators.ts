// Routes for administrators only.
import type { FastifyRequest } from "fastify";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** Options of a route that refuses keys of members, before the body is read: `forbidden` with this message. */
export function forAdministrators(message: string) {
  return {
    onRequest: async ({ caller }: FastifyRequest): Promise<void> => {
      if (caller.role === "admin") return;
      const faults = [{ location: ["header", "authorization"], message, type: "forbidden" }];
      throw new ServiceError({ code: "forbidden", faults });
    },
  };
}
