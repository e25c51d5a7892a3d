// A process whose parent died has a successor by now, or soon: what it would still publish is in that one's way.
import { ServiceError } from "../domain/service-error.ts";

/** @throws ServiceError `cancelled` where the parent of this process is gone; one that never had any may go on */
export function refuseOrphan(): void {
  if (process.send === undefined || process.connected) return;
  throw new ServiceError({
    code: "cancelled",
    message: "Nobody waits for this work any more: the server that asked for it is gone.",
  });
}
