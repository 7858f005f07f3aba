#include "tests/peers/omni_server.h"

#include <pthread.h>
#include <signal.h>

#include <cstring>
#include <iostream>
#include <vector>

namespace weir::peers {

int ServeUntilTerminated(int argc, char** argv, const char* key,
                         const std::function<PortableServer::Servant(CORBA::ORB_ptr)>& make) {
  // Before the ORB starts threads, which inherit the mask; this thread then waits for the signals.
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);

  bool has_end_point = false;
  for (int i = 1; i < argc; ++i) has_end_point |= strncmp(argv[i], "-ORBendPoint", 12) == 0;
  const char* defaults[][2] = {{"endPoint", "giop:tcp:127.0.0.1:0"}, {nullptr, nullptr}};
  try {
    CORBA::ORB_var orb =
        CORBA::ORB_init(argc, argv, "omniORB4", has_end_point ? nullptr : defaults);
    CORBA::Object_var object = orb->resolve_initial_references("omniINSPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
    PortableServer::ServantBase_var servant = make(orb);
    PortableServer::ObjectId_var id = PortableServer::string_to_ObjectId(key);
    poa->activate_object_with_id(id, servant);
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();

    CORBA::Object_var reference = poa->id_to_reference(id);
    CORBA::String_var ior = orb->object_to_string(reference);
    std::cout << ior.in() << std::endl << "ready" << std::endl;

    int signal_number = 0;
    sigwait(&ending, &signal_number);
    orb->destroy();
    return 0;
  } catch (const CORBA::Exception& e) {
    std::cerr << "cannot serve " << key << ": " << e._name() << std::endl;
  } catch (const omniORB::fatalException& e) {
    std::cerr << "cannot serve " << key << ": " << e.errmsg() << std::endl;
  }
  return 1;
}

}  // namespace weir::peers
