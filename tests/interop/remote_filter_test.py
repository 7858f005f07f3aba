"""examples/python/keep_names.py guards a real omniNames behind `weir gateway`; nameclt calls."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PATIENCE = 60  # seconds, for what should take milliseconds
ROOT = os.getcwd()
WEIR = os.path.join(ROOT, 'tools/weir/weir')
KEEP = os.path.join(ROOT, 'examples/python/keep_names.py')
MESSAGES = os.path.join(ROOT, 'tests/interop')


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Started:
    """A process whose output goes to a file, once a line of it holds `ready`."""

    def __init__(self, arguments, log, ready, env=None):
        self.log = log
        with open(log, 'ab') as out:
            begin = out.tell()
            self.process = subprocess.Popen(
                arguments, stdout=out, stderr=subprocess.STDOUT, env=env)
        latest = time.monotonic() + PATIENCE
        while True:
            with open(log, 'rb') as written:
                written.seek(begin)
                text = written.read().decode(errors='replace')
            if any(ready in line for line in text.splitlines(keepends=True) if line.endswith('\n')):
                self.output = text
                return
            if self.process.poll() is not None or time.monotonic() > latest:
                self.kill()
                raise AssertionError('%s is not ready: %s' % (arguments[0], text))
            time.sleep(0.01)

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class KeepNames(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix='w', dir='/tmp')
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.names, self.ior = self.start_names()
        gateway = self.start([
            WEIR, 'gateway', '--listen', 'giop:tcp:127.0.0.1:0', '--upstream',
            'corbaloc::1.2@127.0.0.1:%d' % self.names, '--control', 'unix:' + self.path('c'),
            '--store', 'memory'], 'gateway', 'ready ')
        ready = [l for l in gateway.output.splitlines() if l.startswith('ready ')][0]
        self.port = int(ready.split()[1].rsplit(':', 1)[1])
        self.filter = None

    def path(self, name):
        return os.path.join(self.dir, name)

    def start(self, arguments, name, ready, **more):
        started = Started(arguments, self.path(name + '.log'), ready, **more)
        self.addCleanup(started.kill)
        return started

    def start_names(self):
        for attempt in range(3):  # another process may take the port in between
            port = free_port()
            data = self.path('names%d' % attempt)
            os.mkdir(data)
            try:
                names = self.start([
                    'omniNames', '-start', str(port), '-always', '-datadir', data,
                    '-ORBendPoint', 'giop:tcp:127.0.0.1:%d' % port], 'omninames%d' % attempt,
                    'Root context is IOR:')
            except AssertionError:
                continue
            line = [l for l in names.output.splitlines() if 'Root context is IOR:' in l][0]
            return port, line[line.index('IOR:'):].strip()
        raise AssertionError('omniNames does not start')

    def start_filter(self):
        if os.path.exists(self.path('f')):
            os.unlink(self.path('f'))
        self.filter = self.start(
            [sys.executable, '-B', KEEP, '--listen', 'unix:' + self.path('f')], 'filter', 'ready',
            env=dict(os.environ, PYTHONPATH=MESSAGES, PYTHONUNBUFFERED='1'))

    def weir(self, *arguments):
        done = subprocess.run([WEIR, *arguments, '--control', 'unix:' + self.path('c')],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, '%s: %s' % (arguments, done.stdout))
        return done.stdout

    def plug(self, policy):
        self.weir('plug', 'keep', '--filter', 'grpc', '--set', 'at=unix:' + self.path('f'),
                  '--set', 'on-failure=' + policy, '--set', 'timeout=20s',
                  '--on', 'key:NameService')
        self.weir('map', 'keep', 'unbind', '--up', 'check', '--enable')

    def nameclt(self, *command, port=None):
        where = 'NameService=corbaloc::1.2@127.0.0.1:%d/NameService' % (port or self.port)
        return subprocess.run(['nameclt', '-ORBInitRef', where, *command],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=PATIENCE)

    def works(self, *command):
        done = self.nameclt(*command)
        self.assertEqual(done.returncode, 0, '%s: %s' % (command, done.stdout))
        return done.stdout

    def refused(self, *command):
        done = self.nameclt(*command)
        self.assertNotEqual(done.returncode, 0, '%s: %s' % (command, done.stdout))
        self.assertIn('NO_PERMISSION', done.stdout)

    def bound(self):
        """As omniNames itself lists them."""
        return self.nameclt('list', port=self.names).stdout

    def until_refused(self, name):
        """The filter was started again: `name` is bound and unbound until it is kept."""
        latest = time.monotonic() + PATIENCE
        while True:
            if name not in self.bound():
                self.works('bind', name, self.ior)
            if self.nameclt('unbind', name).returncode != 0 and name in self.bound():
                return
            self.assertLess(time.monotonic(), latest, 'it does not judge again')
            time.sleep(0.02)

    def wait_connected(self):
        latest = time.monotonic() + PATIENCE
        while True:
            listed = json.loads(self.weir('list', '-o', 'json'))
            if self.counter(listed, 'connected') == 1:
                return
            self.assertLess(time.monotonic(), latest, listed)
            time.sleep(0.02)

    @classmethod
    def counter(cls, listed, name):
        """Of the only plug, wherever it stands."""
        if isinstance(listed, dict):
            if listed.get('name') == name and 'value' in listed:
                return int(listed['value'])
            listed = list(listed.values())
        if isinstance(listed, list):
            for part in listed:
                value = cls.counter(part, name)
                if value is not None:
                    return value
        return None

    def judges(self):
        """As the example says: names that begin with `keep` stay."""
        self.works('bind', 'keep_me', self.ior)
        self.works('bind', 'other', self.ior)
        self.refused('unbind', 'keep_me')
        self.assertIn('keep_me', self.bound())
        self.works('unbind', 'other')
        self.assertNotIn('other', self.bound())
        self.assertIn('IOR:', self.works('resolve', 'keep_me'))
        with open(self.path('filter.log')) as log:
            self.assertIn('refused: unbind keep_me', log.read())

    def test_killed_with_policy_closed(self):
        self.start_filter()
        self.plug('closed')
        self.wait_connected()
        self.judges()
        self.works('bind', 'other', self.ior)
        self.filter.kill()
        # Nobody judges: what is guarded is refused, all of it, and nothing else.
        self.refused('unbind', 'other')
        self.refused('unbind', 'keep_me')
        self.assertIn('other', self.bound())
        self.works('resolve', 'other')
        self.works('bind', 'third', self.ior)
        self.start_filter()
        latest = time.monotonic() + PATIENCE
        while self.nameclt('unbind', 'other').returncode != 0:
            self.assertLess(time.monotonic(), latest, 'it does not judge again')
        self.refused('unbind', 'keep_me')
        self.assertIn('keep_me', self.bound())

    def test_killed_with_policy_open(self):
        self.start_filter()
        self.plug('open')
        self.wait_connected()
        self.judges()
        self.filter.kill()
        self.works('unbind', 'keep_me')
        self.assertNotIn('keep_me', self.bound())
        self.start_filter()
        self.until_refused('keep_me')

    def test_comes_after_the_plug(self):
        self.plug('closed')
        self.works('bind', 'other', self.ior)
        self.refused('unbind', 'other')
        self.start_filter()
        self.wait_connected()
        self.works('unbind', 'other')
        self.judges()


if __name__ == '__main__':
    unittest.main(verbosity=2)
