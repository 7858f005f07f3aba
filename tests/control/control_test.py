"""weir.control.v1 as another language's client sees it, against a node that really listens.

python3-grpcio has no generated stubs here: calls go through generic methods of a channel.
"""

import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import grpc
from google.protobuf import descriptor_pb2

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from weir.control.v1 import control_pb2 as pb  # noqa: E402  (generated)

SERVICE = 'weir.control.v1.Control'
PATIENCE = 30  # seconds, for what should take milliseconds


class Node:
    """A control_node process and a channel to it."""

    def __init__(self, control='127.0.0.1:0', store='memory', *more):
        self.process = subprocess.Popen(
            [os.path.join(HERE, 'control_node'), control, store, *more],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith('ready '), line
        self.address = line.split()[1]
        self.channel = grpc.insecure_channel(
            self.address, options=[('grpc.enable_http_proxy', 0)])

    def unary(self, method, request, response_type):
        call = self.channel.unary_unary(
            '/%s/%s' % (SERVICE, method),
            request_serializer=lambda m: m if isinstance(m, bytes) else m.SerializeToString(),
            response_deserializer=response_type.FromString)
        return call(request, timeout=PATIENCE)

    def apply(self, *changes, **fields):
        return self.unary('Apply', pb.ApplyRequest(
            change_set=pb.ChangeSet(changes=changes), **fields), pb.ApplyResponse)

    def list(self, **fields):
        return self.unary('List', pb.ListRequest(**fields), pb.ListResponse)

    def watch(self, timeout=PATIENCE, **fields):
        call = self.channel.unary_stream(
            '/%s/Watch' % SERVICE, request_serializer=pb.WatchRequest.SerializeToString,
            response_deserializer=pb.WatchResponse.FromString)
        return call(pb.WatchRequest(**fields), timeout=timeout)

    def close(self):
        self.channel.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def plug(name, kind='count', selector='all', **parameters):
    return pb.Change(plug=pb.Plug(name=name, filter=kind, selector=selector,
                                  parameters=parameters))


def map_up(name, operation, enable=False):
    return pb.Change(map=pb.Map(plug=name, operation=operation, phase=pb.PHASE_UP,
                                method='count', enable=enable))


def unplug(name):
    return pb.Change(unplug=pb.Unplug(name=name))


class ControlTest(unittest.TestCase):

    def setUp(self):
        self.node = Node()

    def tearDown(self):
        self.node.close()

    def assert_fails(self, code, function, *args, **kwargs):
        with self.assertRaises(grpc.RpcError) as raised:
            function(*args, **kwargs)
        self.assertEqual(raised.exception.code(), code, raised.exception.details())
        self.assertNotIn('\n', raised.exception.details())
        return raised.exception.details()

    def test_a_change_set_is_one_revision(self):
        response = self.node.apply(plug('a', selector='key:Name*'), map_up('a', 'op'),
                                   pb.Change(enable=pb.Enable(plug='a', phase=pb.PHASE_UP)))
        self.assertEqual((response.revision, response.changed), (1, True))
        listed = self.node.list()
        self.assertEqual(listed.revision, 1)
        self.assertEqual(listed.plugs[0].plug.selector, 'key:Name*')
        self.assertEqual(listed.plugs[0].mappings[0],
                         pb.Mapping(operation='op', phase=pb.PHASE_UP, method='count',
                                    enabled=True))

    def test_the_same_again_changes_nothing(self):
        self.node.apply(plug('a'))
        response = self.node.apply(plug('a'))
        self.assertEqual((response.revision, response.changed), (1, False))

    def test_one_bad_change_undoes_all(self):
        self.assert_fails(grpc.StatusCode.NOT_FOUND, self.node.apply, plug('a'),
                          plug('b', kind='nosuch'))
        self.assertEqual(self.node.list().revision, 0)
        self.assertEqual(len(self.node.list().plugs), 0)

    def test_errors_have_their_codes_and_name_the_culprit(self):
        self.node.apply(plug('a'))
        expected = [
            (grpc.StatusCode.NOT_FOUND, 'nosuch', [plug('b', kind='nosuch')]),
            (grpc.StatusCode.NOT_FOUND, 'nosuch', [map_up('nosuch', 'op')]),
            (grpc.StatusCode.INVALID_ARGUMENT, 'weird', [plug('b', selector='weird:x')]),
            (grpc.StatusCode.INVALID_ARGUMENT, 'change 1', [pb.Change()]),
            (grpc.StatusCode.INVALID_ARGUMENT, 'phase', [pb.Change(map=pb.Map(plug='a'))]),
            (grpc.StatusCode.INVALID_ARGUMENT, 'empty', []),
            (grpc.StatusCode.ALREADY_EXISTS, 'a', [plug('a', kind='deny')]),
        ]
        for code, text, changes in expected:
            with self.subTest(text=text, code=code):
                self.assertIn(text, self.assert_fails(code, self.node.apply, *changes))
        self.assertIn('nosuch', self.assert_fails(grpc.StatusCode.NOT_FOUND, self.node.list,
                                                  plug='nosuch'))
        self.assertEqual(self.node.list().revision, 1)

    def test_a_stale_revision_is_aborted(self):
        self.node.apply(plug('a'), expected_revision=0)
        self.assert_fails(grpc.StatusCode.ABORTED, self.node.apply, plug('b'),
                          expected_revision=0)
        self.assertEqual(self.node.apply(plug('b'), expected_revision=1).revision, 2)

    def test_hostile_requests_are_refused_and_the_node_lives(self):
        # A name that is not UTF-8, bytes that are no message, and one over the size limit.
        not_utf8 = pb.ApplyRequest(change_set=pb.ChangeSet(changes=[unplug('zz')]))
        raw = not_utf8.SerializeToString().replace(b'zz', b'\xff\xfe')
        for request in (raw, b'\x0a\xff\xff\xff\xff\x0f', b'\x0a' + b'x' * (5 << 20)):
            with self.assertRaises(grpc.RpcError) as raised:
                self.node.unary('Apply', request, pb.ApplyResponse)
            self.assertIn(raised.exception.code(),
                          (grpc.StatusCode.INTERNAL, grpc.StatusCode.RESOURCE_EXHAUSTED,
                           grpc.StatusCode.INVALID_ARGUMENT))
        many = [unplug('a')] * 10001
        self.assert_fails(grpc.StatusCode.RESOURCE_EXHAUSTED, self.node.apply, *many)
        self.assertEqual(self.node.list().revision, 0)

    def test_status_tells_the_node(self):
        status = self.node.unary('GetStatus', pb.GetStatusRequest(), pb.GetStatusResponse)
        self.assertEqual(status.role, 'control_node')
        self.assertEqual(status.control, self.node.address)
        self.assertEqual(status.store, 'memory')
        self.assertEqual(status.pid, self.node.process.pid)
        self.assertEqual({c.name: c.value for c in status.counters}, {'calls_total': 42})

    def test_watch_begins_with_the_state_and_goes_on_with_changes(self):
        self.node.apply(plug('a'), map_up('a', 'op'))
        stream = self.node.watch()
        first = next(stream)
        self.assertEqual(first.revision, 1)
        self.assertEqual(first.state.plugs[0].mappings[0].operation, 'op')
        self.node.apply(unplug('a'))
        second = next(stream)
        self.assertEqual(second.revision, 2)
        self.assertEqual(list(second.change_set.changes), [unplug('a')])
        stream.cancel()

    def test_watch_from_a_revision_misses_nothing(self):
        for name in 'abc':
            self.node.apply(plug(name))
        stream = self.node.watch(from_revision=1)
        self.assertEqual([next(stream).revision for _ in range(2)], [2, 3])
        stream.cancel()
        with self.assertRaises(grpc.RpcError) as raised:
            next(self.node.watch(from_revision=4))
        self.assertEqual(raised.exception.code(), grpc.StatusCode.OUT_OF_RANGE)

    def test_watchers_see_every_concurrent_commit_once_and_in_order(self):
        threads, commits = 6, 20
        seen = queue.Queue()

        def watch():
            for event in self.node.watch(from_revision=0):
                seen.put(event.revision)
                if event.revision == threads * commits:
                    return

        def commit(number):
            for i in range(commits):
                self.node.apply(plug('p%d-%d' % (number, i)))

        workers = [threading.Thread(target=watch)]
        workers += [threading.Thread(target=commit, args=(n,)) for n in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(PATIENCE)
        self.assertEqual([seen.get_nowait() for _ in range(seen.qsize())],
                         list(range(1, threads * commits + 1)))

    def test_a_cancelled_watch_is_forgotten(self):
        stream = self.node.watch()
        next(stream)
        self.assertEqual(self.watchers(), 1)
        stream.cancel()
        done = threading.Event()
        for _ in range(PATIENCE * 20):
            if self.watchers() == 0:
                return
            done.wait(0.05)
        self.fail('the watcher is still counted')

    def watchers(self):
        return self.node.unary('GetStatus', pb.GetStatusRequest(), pb.GetStatusResponse).watchers

    def test_the_end_of_the_node_ends_watches_with_unavailable(self):
        stream = self.node.watch()
        next(stream)
        self.node.process.send_signal(signal.SIGTERM)
        with self.assertRaises(grpc.RpcError) as raised:
            next(stream)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.UNAVAILABLE)
        self.assertEqual(self.node.process.wait(PATIENCE), 0)

    def test_health_is_serving(self):
        check = self.node.channel.unary_unary('/grpc.health.v1.Health/Check')
        for service in (b'', SERVICE.encode()):
            # HealthCheckRequest.service = 1; HealthCheckResponse.status = 1, SERVING = 1.
            request = b'\x0a' + bytes([len(service)]) + service if service else b''
            self.assertEqual(check(request, timeout=PATIENCE), b'\x08\x01')
        self.assert_fails(grpc.StatusCode.NOT_FOUND, check, b'\x0a\x01x', timeout=PATIENCE)

    def test_reflection_lists_and_describes_the_service(self):
        info = self.node.channel.stream_stream(
            '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo')
        # ServerReflectionRequest: list_services = 7, file_containing_symbol = 4.
        symbol = SERVICE.encode()
        listed, described = info(iter([b'\x3a\x01*', b'\x22' + bytes([len(symbol)]) + symbol]),
                                 timeout=PATIENCE)
        self.assertIn(symbol, listed)
        self.assertIn(b'grpc.health.v1.Health', listed)
        # ServerReflectionResponse.file_descriptor_response = 4, its file_descriptor_proto = 1.
        file = descriptor_pb2.FileDescriptorProto()
        pb.DESCRIPTOR.CopyToProto(file)
        self.assertIn(file.name.encode(), described)
        for method in file.service[0].method:
            self.assertIn(method.name.encode(), described)


class SlowWatcherTest(unittest.TestCase):

    def test_a_watcher_that_does_not_read_is_ended_and_can_go_on_where_it_was(self):
        node = Node('127.0.0.1:0', 'memory', '4')
        self.addCleanup(node.close)
        node.apply(plug('a'))
        stream = node.watch(from_revision=0)
        first = next(stream)
        self.assertEqual(first.revision, 1)
        # Far more than gRPC's windows and buffers hold: 300 events of 100 KB.
        filler = [unplug('n' * 60)] * 1500
        for i in range(150):
            node.apply(plug('b'), *filler)
            node.apply(unplug('b'), *filler)
        last = 1
        with self.assertRaises(grpc.RpcError) as raised:
            for event in stream:
                self.assertEqual(event.revision, last + 1, 'an event was skipped')
                last = event.revision
        self.assertEqual(raised.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertIn('from revision %d' % last, raised.exception.details())
        again = node.watch(from_revision=last)
        self.assertEqual(next(again).revision, last + 1)
        again.cancel()


class UnixSocketTest(unittest.TestCase):

    def test_a_unix_socket_serves_the_same(self):
        folder = tempfile.mkdtemp(dir='/tmp')
        self.addCleanup(shutil.rmtree, folder)
        node = Node('unix:' + os.path.join(folder, 's'),
                    'sqlite:' + os.path.join(folder, 'db'))
        self.addCleanup(node.close)
        self.assertEqual(node.apply(plug('a')).revision, 1)
        self.assertEqual(node.list().plugs[0].plug.name, 'a')


if __name__ == '__main__':
    unittest.main()
