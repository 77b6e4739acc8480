"""A client of NBD for programs that tests run on a served drive: the least that they need."""

CLIENT = """
import pathlib, socket, struct, sys, time
uri = sys.argv[1]
server = socket.socket(socket.AF_UNIX)
server.connect(uri.partition("=")[2])
def take(count):
    taken = b""
    while len(taken) < count:
        taken += server.recv(count - len(taken)) or sys.exit(9)
    return taken
take(18)
server.sendall(struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">II", 1, 0))
take(10)
def ask(command, block, data=b"", flags=0):
    server.sendall(struct.pack(">IHHQQI", 0x25609513, flags, command, 1, block * 4096, 4096) + data)
    assert struct.unpack(">II", take(16)[:8])[1] == 0
"""
"""Its first argument is the address. ``ask`` sends a command of the protocol (0 reads, 1 writes, 4
trims, 6 writes zeroes) about a block of 4 KiB and waits until it is done."""
