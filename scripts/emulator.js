// Finds QEMU's user mode, for tests on processors other than this machine's.
import { existsSync } from "node:fs";

const places = [process.env.EMULATOR, "/usr/bin/qemu-x86_64"];

/** How to have it where it is missing. */
export const emulatorCure =
  "Install QEMU's user mode (Debian: apt-get install qemu-user), or say where qemu-x86_64 is in EMULATOR.";

/** Its path; undefined where it is missing, and on other systems than Linux on x86-64, whose Node it can run. */
export function findEmulator() {
  if (process.platform !== "linux" || process.arch !== "x64") return undefined;
  return places.find((path) => path !== undefined && path !== "" && existsSync(path));
}
