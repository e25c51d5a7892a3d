// Routes for administrators only.
import type { FastifyRequest } from "fastify";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** @throws ServiceError `forbidden` with this message if the request's key is a member's */
export function requireAdministrator({ caller }: Pick<FastifyRequest, "caller">, message: string): void {
  if (caller.role === "admin") return;
  throw new ServiceError({
    code: "forbidden",
    faults: [{ location: ["header", "authorization"], message, type: "forbidden" }],
  });
}
