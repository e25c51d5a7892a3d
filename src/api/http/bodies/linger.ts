// Delivers a refusal to a client that is still sending its body. If a server closes a connection with unread bytes, TCP
// resets the connection and the client loses the answer. This module therefore discards further bytes for a while, then
// closes the connection.
import type { IncomingMessage } from "node:http";
import { keyless } from "../../../base/domain/sharing/tenant-shares.ts";
import { forEachPiece } from "./gather-body.ts";

/** Maximum time in milliseconds that a client can hold the connection after a refusal by sending further bytes. */
const lingerMs = 5000;

/** After the last answer, discards further bytes from the request's connection for a while, then closes it. */
export function lingerBeforeClose(request: IncomingMessage): void {
  const { socket } = request;
  // Node's HTTP server calls `destroySoon` after a connection's last answer, so replacing it delays the close.
  socket.destroySoon = () => {
    const deadline = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(deadline));
    request.once("end", () => socket.destroy());
    request.once("error", () => socket.destroy());
    // Connections take turns here, too, so that discarding large bodies does not delay other requests.
    void forEachPiece(request, keyless, () => undefined).catch(() => undefined);
    request.resume();
    socket.end();
  };
}
