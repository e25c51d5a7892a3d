// Whose headers are believed: connections from the addresses that the operator names.
import { BlockList, isIP } from "node:net";
import { quoted } from "../../base/domain/service-error.ts";
import { invalid } from "./user-errors.ts";

const families = { 4: "ipv4", 6: "ipv6" } as const;

/** @param lines addresses, or networks as `10.0.0.0/8`. @throws ServiceError `invalid` for anything else */
export function createTrustedProxies(lines: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const line of lines) {
    const [address = "", prefix, ...rest] = line.split("/");
    const family = families[isIP(address) as 4 | 6];
    const bits = prefix === undefined ? null : Number(prefix);
    const bitsMax = family === "ipv4" ? 32 : 128;
    if (family === undefined || rest.length > 0 || prefix === "" || !isPrefix(bits, bitsMax))
      throw invalid(
        `users.proxies has ${quoted(line)}; each must be an address, or a network such as 10.0.0.0/8.`,
      );
    if (bits === null) list.addAddress(address, family);
    else list.addSubnet(address, bits, family);
  }
  return (address) => {
    // An IPv4 address on a socket of both families.
    const plain = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
    const family = families[isIP(plain) as 4 | 6];
    return family !== undefined && list.check(plain, family);
  };
}

function isPrefix(bits: number | null, bitsMax: number): boolean {
  return bits === null || (Number.isInteger(bits) && bits >= 0 && bits <= bitsMax);
}
