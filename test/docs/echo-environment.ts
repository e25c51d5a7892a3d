// For code blocks of the documentation: an environment that answers like the echo environment of OpenEnv's template.
import { startSocketServer, type SocketServer } from "../../src/apps/client/testing/socket-server.ts";

/** Starts the environment on a free port. The reward of a step is 0.1 for each character of the message, up to 1. */
export function startEchoEnvironment(): Promise<SocketServer> {
  return startSocketServer(() => ({
    received: (text, socket) => {
      // Safe cast: the client under test sends requests of this form.
      const { type, data } = JSON.parse(text) as {
        readonly type: string;
        readonly data?: { message?: string };
      };
      if (type === "close") return socket.close();
      const message = data?.message ?? "ready";
      const observation = { echoed_message: message, message_length: message.length, metadata: {} };
      const reward = type === "reset" ? 0 : Math.min(message.length / 10, 1);
      socket.send(JSON.stringify({ type: "observation", data: { observation, reward, done: false } }));
    },
  }));
}
