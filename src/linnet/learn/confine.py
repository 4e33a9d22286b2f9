"""What the process of a student's program gives up before it runs: time, memory, files, network, processes.

Each of these is taken away where the system can do it; `confine` returns which were. On Linux: namespaces (no
network, no other processes to see or to end), Landlock (files are read where Python and the student's folder are, and
written in one folder only) and seccomp (no new processes). Elsewhere only limits of time, memory and files are left.
"""

import ctypes
import os
import platform
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

_NEW_USER, _NEW_NETWORK, _NEW_PROCESSES = 0x10000000, 0x40000000, 0x20000000  # of unshare
_SIGNAL = 128  # added to a signal's number, as shells do
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/opt", "/nix", "/proc", "/sys/devices/system", "/sys/fs/cgroup")
_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/etc/passwd", "/etc/nsswitch.conf", "/etc/fonts", "/dev/urandom")


def confine(limits: dict[str, int], readable: Sequence[str], writable: Sequence[str]) -> list[str]:
    """Give up what the system lets a process give up; return which of "network", "files" and "processes" are gone."""
    _limit(limits)
    if sys.platform != "linux":
        return []
    system = ctypes.CDLL(None, use_errno=True)
    gone = ["network"] if _leave_network(system) else []
    system.prctl(38, 1, 0, 0, 0)  # no new privileges, without which the next two are refused
    gone += ["files"] if _landlock(system, [*readable, *_SYSTEM, *_FILES], writable) else []
    return [*gone, "processes"] if _seccomp(system) else gone


def _limit(limits: dict[str, int]) -> None:
    """Bound processor time, memory and files."""
    try:
        import resource
    except ImportError:
        return
    for name, value in limits.items():
        # the soft limit of processor time sends a signal, the hard limit ends a program that ignores it
        with suppress(ValueError, OSError):
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value + (name == "CPU")))


def _leave_network(system: Any) -> bool:
    """Continue in namespaces without a network and without a view of other processes; return whether that worked."""
    flags = _NEW_NETWORK | _NEW_PROCESSES
    if system.unshare(_NEW_USER | flags) and system.unshare(flags):
        return False
    if child := os.fork():
        code = _exit_code(child)
        if code > _SIGNAL:
            os.kill(os.getpid(), code - _SIGNAL)
        os._exit(code)
    system.prctl(1, signal.SIGKILL, 0, 0, 0)  # end with the waiting process; all of the namespace ends with this one
    if child := os.fork():  # signals such as that of the time limit cannot end the first process
        os._exit(_exit_code(child))
    return True


def _exit_code(child: int) -> int:
    """Wait for a process; if a signal ended it, return that signal's number plus `_SIGNAL`."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return _SIGNAL - code if code < 0 else code


class _Rules(ctypes.Structure):
    """landlock_ruleset_attr."""

    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    """landlock_path_beneath_attr."""

    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE, _DEVICE = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_CREATE_RULES, _ADD_RULE, _RESTRICT = 444, 445, 446  # numbers of system calls, the same on all processors


def _landlock(system: Any, readable: Iterable[str], writable: Iterable[str]) -> bool:
    """Let files be read and written in the given places only; return whether that worked."""
    version = system.syscall(_CREATE_RULES, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    # version 1 has 13 rights, 2 adds links between folders, 3 truncation, 4 TCP, 5 devices, 6 signals and sockets
    rights = (1 << 13) - 1 | (1 << 13 if version > 1 else 0) | (_TRUNCATE if version > 2 else 0)
    rights |= _DEVICE if version > 4 else 0
    rules = _Rules(rights, 3 if version > 3 else 0, 3 if version > 5 else 0)
    size = 24 if version > 5 else 16 if version > 3 else 8
    file = system.syscall(_CREATE_RULES, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    if file < 0:
        return False
    allowed = [(path, _EXECUTE | _READ | _LIST) for path in readable]
    allowed += [(path, rights & ~_DEVICE) for path in writable]
    for path, right in [*allowed, ("/dev/null", _READ | _WRITE | rights & _TRUNCATE)]:
        with suppress(OSError):
            parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
            if not os.path.isdir(path):  # noqa: PTH112
                right &= _EXECUTE | _READ | _WRITE | _TRUNCATE
            system.syscall(_ADD_RULE, file, 1, ctypes.byref(_Beneath(right, parent)), 0)
            os.close(parent)
    done = bool(system.syscall(_RESTRICT, file, 0) == 0)
    os.close(file)
    return done


class _Instruction(ctypes.Structure):
    """sock_filter."""

    _fields_ = (("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("k", ctypes.c_uint32))


class _Filter(ctypes.Structure):
    """sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction)))


# for each processor: its number; that of clone; those of fork, vfork, setsid and setpgid
_PROCESSORS = {"x86_64": (0xC000003E, 56, (57, 58, 112, 109)), "aarch64": (0xC00000B7, 220, (157, 154))}
_CLONE3, _THREAD, _OTHER_NUMBERS = 435, 0x10000, 1 << 30  # the last is x32's, on x86_64
_LOAD, _EQUAL, _AT_LEAST, _HAS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x50000 | 1, 0x50000 | 38


def _seccomp(system: Any) -> bool:
    """Refuse new processes (but not threads) and leaving the process group, for good; return whether that worked."""
    if platform.machine() not in _PROCESSORS:
        return False
    processor, clone, refused = _PROCESSORS[platform.machine()]
    program = [
        (_LOAD, 0, 0, 4),  # the processor: 32-bit programs have other system call numbers
        (_EQUAL, 1, 0, processor),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, 0),  # the number of the system call
        *_when(_AT_LEAST, _OTHER_NUMBERS, _REFUSE),
        *(one for number in refused for one in _when(_EQUAL, number, _REFUSE)),
        *_when(_EQUAL, _CLONE3, _UNKNOWN),  # its flags are out of a filter's reach: the C library falls back to clone
        (_EQUAL, 1, 0, clone),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, 16),  # the flags of clone
        *_when(_HAS, _THREAD, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    instructions = (_Instruction * len(program))(*(_Instruction(*one) for one in program))
    return bool(system.prctl(22, 2, ctypes.byref(_Filter(len(program), instructions)), 0, 0) == 0)


def _when(test: int, value: int, outcome: int) -> list[tuple[int, int, int, int]]:
    """Two instructions: if the loaded value passes a test, return the outcome; otherwise continue."""
    return [(test, 0, 1, value), (_RETURN, 0, 0, outcome)]
