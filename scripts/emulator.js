// Finds QEMU's user-mode emulator, for tests on other processors than this machine's.
import { existsSync } from "node:fs";

const places = [process.env.EMULATOR, "/usr/bin/qemu-x86_64"];

/** Message that says how to install the emulator. */
export const emulatorCure =
  "Install QEMU's user mode (Debian: apt-get install qemu-user), or set EMULATOR to the path of qemu-x86_64.";

/**
 * Returns the path of the emulator; undefined if it is missing, or on systems other than Linux on x86-64, because the
 * tests emulate this system's Node.js.
 */
export function findEmulator() {
  if (process.platform !== "linux" || process.arch !== "x64") return undefined;
  return places.find((path) => path !== undefined && path !== "" && existsSync(path));
}
