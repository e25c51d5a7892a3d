// Routes for administrators only.
import type { FastifyRequest } from "fastify";
import { ServiceError } from "../../../base/domain/service-error.ts";

/**
 * Returns route options that refuse keys of members before the body is read. The error is `forbidden` with this
 * message.
 */
export function adminOnly(message: string) {
  return {
    onRequest: async ({ caller }: FastifyRequest): Promise<void> => {
      if (caller.role === "admin") return;
      const faults = [{ location: ["header", "authorization"], message, type: "forbidden" }];
      throw new ServiceError({ code: "forbidden", faults });
    },
  };
}
